package dev.carrel.control.audit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/**
 * The server's Ed25519 key, in a file that only its owner can read. Made on the first start. Safe
 * for many threads.
 */
public final class SigningKey {
  private static final String ALGORITHM = "Ed25519";
  private static final int ID_CHARS = 16;
  private static final Set<PosixFilePermission> OWNER =
      EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);

  private final PrivateKey privateKey;
  private final PublicKey publicKey;

  private SigningKey(PrivateKey privateKey, PublicKey publicKey) {
    this.privateKey = privateKey;
    this.publicKey = publicKey;
  }

  public static SigningKey openOrCreate(Path file) {
    try {
      if (!Files.exists(file)) {
        create(file);
      }
      if (!OWNER.containsAll(Files.getPosixFilePermissions(file))) {
        throw new IllegalStateException(
            file + " can be read or written by others; run chmod 600 on it");
      }
      List<String> lines = Files.readAllLines(file, StandardCharsets.US_ASCII);
      if (lines.size() != 2) {
        throw new IllegalStateException(file + " is no signing key: it must have two lines");
      }
      KeyFactory keys = KeyFactory.getInstance(ALGORITHM);
      Base64.Decoder base64 = Base64.getDecoder();
      return new SigningKey(
          keys.generatePrivate(new PKCS8EncodedKeySpec(base64.decode(lines.get(0)))),
          keys.generatePublic(new X509EncodedKeySpec(base64.decode(lines.get(1)))));
    } catch (IOException e) {
      throw new UncheckedIOException("signing key " + file + " cannot be read", e);
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw new IllegalStateException(file + " is no signing key: " + e.getMessage(), e);
    }
  }

  public byte[] sign(byte[] message) {
    try {
      Signature signature = Signature.getInstance(ALGORITHM);
      signature.initSign(privateKey);
      signature.update(message);
      return signature.sign();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("cannot sign: " + e, e);
    }
  }

  public boolean verify(byte[] message, byte[] signed) {
    try {
      Signature signature = Signature.getInstance(ALGORITHM);
      signature.initVerify(publicKey);
      signature.update(message);
      return signature.verify(signed);
    } catch (GeneralSecurityException malformed) {
      return false;
    }
  }

  /** In X.509 form, base64: what {@code openssl pkey -pubin} reads between its two lines. */
  public String publicKey() {
    return Base64.getEncoder().encodeToString(publicKey.getEncoded());
  }

  /** A short name for the public key. */
  public String id() {
    return HexFormat.of()
        .formatHex(RequestDigest.sha256().digest(publicKey.getEncoded()))
        .substring(0, ID_CHARS);
  }

  byte[] publicBytes() {
    return publicKey.getEncoded();
  }

  private static void create(Path file) throws IOException, GeneralSecurityException {
    KeyPair pair = KeyPairGenerator.getInstance(ALGORITHM).generateKeyPair();
    Base64.Encoder base64 = Base64.getEncoder();
    String text =
        base64.encodeToString(pair.getPrivate().getEncoded())
            + "\n"
            + base64.encodeToString(pair.getPublic().getEncoded())
            + "\n";
    // Whole or not at all: half a key would stop every start to come.
    Path fresh = file.resolveSibling(file.getFileName() + ".new");
    Files.deleteIfExists(fresh);
    Files.createFile(fresh, PosixFilePermissions.asFileAttribute(OWNER));
    Files.writeString(fresh, text, StandardCharsets.US_ASCII);
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
  }
}
