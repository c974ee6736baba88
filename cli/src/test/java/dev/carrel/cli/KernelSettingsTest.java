package dev.carrel.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class KernelSettingsTest {
  private static final String CORES = "proc/sys/kernel/core_pattern";
  private static final String MERGING = "sys/kernel/mm/ksm/run";

  @TempDir private Path root;

  @Test
  void programsAndSocketsThatGetCrashesAreNamed() throws IOException {
    assertThat(KernelSettings.in(root)).as("a kernel without them").isEmpty();

    set(CORES, "core");
    assertThat(KernelSettings.in(root)).containsEntry("core dumps", "core");

    set(CORES, "|/usr/share/apport/apport -p%p");
    assertThat(KernelSettings.in(root).get("core dumps"))
        .startsWith("|/usr/share/apport/apport -p%p; root runs this")
        .contains("not for those in sandboxes");

    set(CORES, "@/run/coredump.socket");
    assertThat(KernelSettings.in(root).get("core dumps"))
        .startsWith("@/run/coredump.socket; ")
        .contains("those in sandboxes too", "sysctl kernel.core_pattern=core");
  }

  @Test
  void memoryThatIsMergedIsNamed() throws IOException {
    set(MERGING, "0");
    assertThat(KernelSettings.in(root)).containsEntry("merged memory", "off");

    set(MERGING, "1");
    assertThat(KernelSettings.in(root).get("merged memory"))
        .startsWith("on; ")
        .contains("/sys/kernel/mm/ksm/run");
  }

  private void set(String setting, String value) throws IOException {
    Path file = root.resolve(setting);
    Files.createDirectories(file.getParent());
    Files.writeString(file, value + "\n");
  }
}
