package dev.carrel.egress;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/**
 * Whom this host believes when a server says who it is: its own bundle of certificates, or Java's
 * where it has none, and what the operator adds.
 */
final class HostTrust {
  private static final List<String> BUNDLES =
      List.of(
          "/etc/ssl/certs/ca-certificates.crt",
          "/etc/pki/tls/certs/ca-bundle.crt",
          "/etc/ssl/ca-bundle.pem",
          "/etc/ssl/cert.pem");

  private final SSLContext context;
  private final String pem;

  private HostTrust(SSLContext context, String pem) {
    this.context = context;
    this.pem = pem;
  }

  /**
   * @param more files with certificates that are believed, too
   */
  static HostTrust open(List<Path> more) throws IOException, GeneralSecurityException {
    var text = new StringBuilder(ofHost());
    for (Path file : more) {
      String added = Files.readString(file, StandardCharsets.ISO_8859_1);
      if (Pem.certificates(added).isEmpty()) {
        throw new IOException(file + " has no certificates in it");
      }
      text.append(added).append('\n');
    }
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    int count = 0;
    for (X509Certificate certificate : Pem.certificates(text.toString())) {
      store.setCertificateEntry(Integer.toString(count++), certificate);
    }
    TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
    factory.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, factory.getTrustManagers(), null);
    return new HostTrust(context, text.toString());
  }

  private static String ofHost() throws IOException, GeneralSecurityException {
    for (String bundle : BUNDLES) {
      Path file = Path.of(bundle);
      if (Files.isReadable(file)) {
        return Files.readString(file, StandardCharsets.ISO_8859_1) + "\n";
      }
    }
    TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
    factory.init((KeyStore) null);
    var text = new StringBuilder();
    for (TrustManager known : factory.getTrustManagers()) {
      if (known instanceof X509TrustManager certificates) {
        for (X509Certificate issuer : certificates.getAcceptedIssuers()) {
          text.append(Pem.encode("CERTIFICATE", issuer.getEncoded()));
        }
      }
    }
    return text.toString();
  }

  SSLContext context() {
    return context;
  }

  /** All of them as text. */
  String pem() {
    return pem;
  }
}
