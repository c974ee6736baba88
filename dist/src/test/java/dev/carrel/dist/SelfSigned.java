package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;

/** A certificate for {@code *.boxes.example} that nobody trusts, and its key, as PEM files. */
record SelfSigned(Path certificate, Path key) {
  private static final String PASSWORD = "changeit";

  static SelfSigned in(Path folder) throws Exception {
    Path store = folder.resolve("store.p12");
    Process made =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "a",
                "-keyalg",
                "EC",
                "-dname",
                "CN=boxes.example",
                "-ext",
                "san=dns:*.boxes.example",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD)
            .redirectErrorStream(true)
            .start();
    assertThat(made.waitFor(60, TimeUnit.SECONDS)).isTrue();
    KeyStore entries = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
    return new SelfSigned(
        pem(folder, "CERTIFICATE", entries.getCertificate("a").getEncoded()),
        pem(folder, "PRIVATE KEY", entries.getKey("a", PASSWORD.toCharArray()).getEncoded()));
  }

  private static Path pem(Path folder, String kind, byte[] bytes) throws Exception {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
    return Files.writeString(
        folder.resolve(kind.replace(' ', '-') + ".pem"),
        "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(kind, body, kind));
  }
}
