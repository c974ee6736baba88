package dev.carrel.egress;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.Date;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.Set;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/**
 * Vouches for hosts towards sandboxes that use a secret through the proxy. Each server has its own;
 * its key stays in one file that only the server's user can read, and enters no sandbox. Safe for
 * many threads.
 */
final class CertificateAuthority {
  private static final Duration OWN_LIFE = Duration.ofDays(3650);
  private static final Duration RENEWED_BEFORE_END = Duration.ofDays(60);
  private static final Duration HOST_LIFE = Duration.ofDays(8);
  // Clocks differ, and sandboxes may have been told another time.
  private static final Duration BEFORE = Duration.ofDays(2);
  private static final int SERIAL_BYTES = 16;
  private static final Set<PosixFilePermission> OTHERS =
      EnumSet.complementOf(
          EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));

  private final PrivateKey key;
  private final X509Certificate certificate;

  private CertificateAuthority(PrivateKey key, X509Certificate certificate) {
    this.key = key;
    this.certificate = certificate;
  }

  /**
   * @param file key and certificate; made when it is not there or about to expire
   */
  static CertificateAuthority openOrCreate(Path file) throws IOException, GeneralSecurityException {
    if (Files.exists(file)) {
      CertificateAuthority found = read(file);
      Instant end = found.certificate.getNotAfter().toInstant();
      if (end.minus(RENEWED_BEFORE_END).isAfter(Instant.now())) {
        return found;
      }
    }
    CertificateAuthority made = create();
    made.write(file);
    return made;
  }

  private static CertificateAuthority read(Path file) throws IOException, GeneralSecurityException {
    if (!Collections.disjoint(Files.getPosixFilePermissions(file), OTHERS)) {
      throw new IOException("key file " + file + " can be used by others; run chmod 600 on it");
    }
    String text = Files.readString(file, StandardCharsets.US_ASCII);
    PrivateKey key =
        KeyFactory.getInstance("EC")
            .generatePrivate(new PKCS8EncodedKeySpec(Pem.decode("PRIVATE KEY", text)));
    return new CertificateAuthority(key, Pem.certificates(text).getFirst());
  }

  private static CertificateAuthority create() throws GeneralSecurityException {
    KeyPair pair = newKeys();
    byte[] mark = new byte[4];
    new SecureRandom().nextBytes(mark);
    // The name tells two servers' apart in a bundle that has both.
    var name = new X500Name("CN=Carrel egress " + HexFormat.of().formatHex(mark));
    X509v3CertificateBuilder builder = builder(name, name, pair, OWN_LIFE);
    try {
      builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(0));
      builder.addExtension(
          Extension.keyUsage, true, new KeyUsage(KeyUsage.keyCertSign | KeyUsage.cRLSign));
      builder.addExtension(
          Extension.subjectKeyIdentifier,
          false,
          new JcaX509ExtensionUtils().createSubjectKeyIdentifier(pair.getPublic()));
      return new CertificateAuthority(pair.getPrivate(), signed(builder, pair.getPrivate()));
    } catch (IOException | OperatorException e) {
      throw new GeneralSecurityException("cannot make a certificate", e);
    }
  }

  private void write(Path file) throws IOException, GeneralSecurityException {
    Path fresh = file.resolveSibling(file.getFileName() + ".new");
    String text = Pem.encode("PRIVATE KEY", key.getEncoded()) + certificatePem();
    Files.deleteIfExists(fresh);
    try (FileChannel channel =
        FileChannel.open(
            fresh,
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
      channel.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)));
      channel.force(true);
    }
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
  }

  static KeyPair newKeys() throws GeneralSecurityException {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec("secp256r1"));
    return generator.generateKeyPair();
  }

  X509Certificate certificate() {
    return certificate;
  }

  String certificatePem() throws GeneralSecurityException {
    return Pem.encode("CERTIFICATE", certificate.getEncoded());
  }

  /** For this host alone, and for a few days. */
  X509Certificate issue(Host host, KeyPair keys) throws GeneralSecurityException {
    var issuer = X500Name.getInstance(certificate.getSubjectX500Principal().getEncoded());
    // A common name has room for 64 characters; clients look at the alternative name anyway.
    X509v3CertificateBuilder builder =
        builder(issuer, new X500Name("CN=brokered by Carrel"), keys, HOST_LIFE);
    try {
      var identifiers = new JcaX509ExtensionUtils();
      builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(false));
      builder.addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature));
      builder.addExtension(
          Extension.extendedKeyUsage, false, new ExtendedKeyUsage(KeyPurposeId.id_kp_serverAuth));
      builder.addExtension(
          Extension.subjectAlternativeName,
          false,
          new GeneralNames(new GeneralName(GeneralName.dNSName, host.text())));
      builder.addExtension(
          Extension.subjectKeyIdentifier,
          false,
          identifiers.createSubjectKeyIdentifier(keys.getPublic()));
      builder.addExtension(
          Extension.authorityKeyIdentifier,
          false,
          identifiers.createAuthorityKeyIdentifier(certificate.getPublicKey()));
      return signed(builder, key);
    } catch (IOException | OperatorException e) {
      throw new GeneralSecurityException("cannot make a certificate for " + host, e);
    }
  }

  private static X509v3CertificateBuilder builder(
      X500Name issuer, X500Name subject, KeyPair keys, Duration life) {
    Instant now = Instant.now();
    byte[] serial = new byte[SERIAL_BYTES];
    new SecureRandom().nextBytes(serial);
    return new JcaX509v3CertificateBuilder(
        issuer,
        new BigInteger(1, serial),
        Date.from(now.minus(BEFORE)),
        Date.from(now.plus(life)),
        subject,
        keys.getPublic());
  }

  private static X509Certificate signed(X509v3CertificateBuilder builder, PrivateKey by)
      throws OperatorException, GeneralSecurityException {
    return new JcaX509CertificateConverter()
        .getCertificate(builder.build(new JcaContentSignerBuilder("SHA256withECDSA").build(by)));
  }
}
