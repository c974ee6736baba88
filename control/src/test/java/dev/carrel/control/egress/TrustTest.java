package dev.carrel.control.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.egress.TlsEnds;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TrustTest {
  private @TempDir Path folder;

  @Test
  void oneFileHasAllThatSomeClientBelieves() throws Exception {
    Path mirror = Files.writeString(folder.resolve("mirror.pem"), "the mirror's certificate\n");
    var ends = new TlsEnds(folder.resolve("authority.pem"), List.of());
    var trust =
        new Trust(
            ends,
            folder,
            Map.of("PIP_CERT", mirror.toString(), "PIP_INDEX_URL", "https://mirror.example/"));
    Path gate = Files.createDirectory(folder.resolve("gate"));

    Map<String, String> inside = trust.giveTo(gate, false);
    assertThat(inside)
        .containsEntry("SSL_CERT_FILE", "/run/carrel/egress/ca.pem")
        .containsEntry("PIP_CERT", "/run/carrel/egress/ca.pem")
        .doesNotContainKeys("NPM_CONFIG_CAFILE", "PIP_INDEX_URL");
    assertThat(trust.giveTo(gate, true))
        .containsEntry("SSL_CERT_FILE", gate.resolve("ca.pem").toString());
    assertThat(gate.resolve("ca.pem"))
        .content()
        .contains(ends.bundle())
        .contains("the mirror's certificate")
        .doesNotContain("PRIVATE");
  }
}
