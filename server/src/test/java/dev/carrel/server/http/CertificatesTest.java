package dev.carrel.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.SandboxException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What cannot be used is told at the start; that the rest is served is shown by real clients. */
class CertificatesTest {
  @Test
  void whatIsNoCertificateIsTold(@TempDir Path folder) throws Exception {
    Path nonsense = Files.writeString(folder.resolve("nonsense.pem"), "nonsense");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> Certificates.tls(nonsense, nonsense))
        .withMessageContaining("cannot be used");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> Certificates.tls(folder.resolve("missing"), nonsense))
        .withMessageContaining("missing");
  }

  @Test
  void aCertificateGoesWithItsKey(@TempDir Path folder) {
    Path one = folder.resolve("one.pem");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> Certificates.tls(one, null))
        .withMessageContaining("set both, or neither");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> Certificates.tls(null, one))
        .withMessageContaining("set both, or neither");
    assertThat(Certificates.tls(null, null)).isEmpty();
  }
}
