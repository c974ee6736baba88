package dev.carrel.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;

/** A certificate of localhost that vouches for itself, and its key, as PEM files. */
public record SelfSigned(Path certificate, Path key) {
  public static SelfSigned in(Path folder) throws Exception {
    Path store = folder.resolve("store.p12");
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    Process made =
        new ProcessBuilder(
                keytool,
                "-genkeypair",
                "-alias",
                "a",
                "-keyalg",
                "EC",
                "-dname",
                "CN=localhost",
                "-ext",
                "san=dns:localhost",
                "-validity",
                "2",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                "changeit")
            .redirectErrorStream(true)
            .start();
    assertThat(made.waitFor(60, TimeUnit.SECONDS)).isTrue();
    char[] password = "changeit".toCharArray();
    KeyStore entries = KeyStore.getInstance(store.toFile(), password);
    var own = new SelfSigned(folder.resolve("cert.pem"), folder.resolve("key.pem"));
    Files.writeString(
        own.certificate, pem("CERTIFICATE", entries.getCertificate("a").getEncoded()));
    Files.writeString(own.key, pem("PRIVATE KEY", entries.getKey("a", password).getEncoded()));
    return own;
  }

  private static String pem(String kind, byte[] bytes) {
    return "-----BEGIN %s-----\n%s\n-----END %s-----\n"
        .formatted(kind, Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes), kind);
  }
}
