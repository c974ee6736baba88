package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.Capabilities;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.Isolation;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProbeTest {
  private static final DaemonInfo INFO =
      new DaemonInfo("docker", "99.0", Map.of(), Set.of("runc"), "runc", false);
  private static final Isolation WITHOUT =
      new Isolation(
          Isolation.Strength.NAMESPACES,
          List.of(new Isolation.Measure("landlock", false, "the kernel has none")));

  @TempDir private Path folder;

  @Test
  void whatIsMissingSaysWhatHelps() {
    Capabilities found = judged(Set.of());
    assertThat(found.usable()).isFalse();
    assertThat(found.problems())
        .contains(
            "landlock cannot be applied: the kernel has none; allow its absence with"
                + " native.allow-missing or mend it");
  }

  @Test
  void whatIsAllowedToBeMissingIsSaidToBe() {
    Capabilities found = judged(Set.of("landlock"));
    assertThat(found.usable()).isTrue();
    assertThat(found.problems())
        .contains("landlock cannot be applied: the kernel has none (allowed)");
  }

  private Capabilities judged(Set<String> allowMissing) {
    Daemon daemon =
        Daemon.of(new DaemonSettings(folder.resolve("none.sock").toString(), Map.of(), folder));
    var probe = new Probe(Kind.NAMESPACES, daemon, folder.resolve("guest"), allowMissing);
    return probe.judge("docker 99.0", INFO, WITHOUT, List.of());
  }
}
