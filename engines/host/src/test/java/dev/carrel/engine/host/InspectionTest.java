package dev.carrel.engine.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.Isolation.Measure;
import dev.carrel.spi.Isolation.Strength;
import dev.carrel.spi.Limits;
import dev.carrel.spi.Rootfs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes that are folders, each with one thing that a runtime left out. */
class InspectionTest {
  private static final Limits LIMITS =
      new Limits(DataSize.ofMebibytes(256), 1, 64, DataSize.ofMebibytes(64), 256);

  @TempDir private Path process;
  private final List<String> mounts = new ArrayList<>();

  /** As a runtime makes one that does all that it is told. */
  @BeforeEach
  void makeWhole() throws IOException {
    Files.createDirectories(process.resolve("root/dev"));
    Files.createDirectories(process.resolve("root/proc"));
    for (String path : ProcPaths.MASKED) {
      Path seen = process.resolve("root" + path);
      if (Files.isDirectory(Path.of(path))) {
        Files.createDirectory(seen);
      } else {
        Files.createSymbolicLink(seen, Path.of("/dev/null"));
      }
    }
    mount("/", "ro");
    mount("/proc", "rw");
    ProcPaths.READ_ONLY.forEach(path -> mount(path, "ro"));
    Files.writeString(
        process.resolve("status"), "CapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
  }

  /** JUnit would warn of each link. */
  @AfterEach
  void removeMasks() throws IOException {
    for (String path : ProcPaths.MASKED) {
      Files.deleteIfExists(process.resolve("root" + path));
    }
  }

  private void mount(String point, String access) {
    mounts.add("1 2 0:3 / %s %s,nosuid - proc proc rw".formatted(point, access));
  }

  private List<String> files() throws IOException {
    Files.write(process.resolve("mountinfo"), mounts);
    var measures = new Measures();
    new Inspection(process).files(measures, Rootfs.READ_ONLY);
    return applied(measures);
  }

  private static List<String> applied(Measures measures) {
    return measures.as(Strength.NAMESPACES).measures().stream()
        .filter(Measure::applied)
        .map(Measure::name)
        .toList();
  }

  @Test
  void whatIsWholeIsFoundWhole() throws IOException {
    assertThat(files()).contains("masked-proc", "read-only-root", "minimal-dev");
  }

  @Test
  void eachMaskCounts() throws IOException {
    int tried = 0;
    for (String path : ProcPaths.MASKED) {
      if (!Files.exists(Path.of(path))) {
        continue;
      }
      Path seen = process.resolve("root" + path);
      boolean folder = Files.isDirectory(seen);
      Path bare = folder ? seen.resolve("entry") : seen;
      if (!folder) {
        Files.delete(seen);
      }
      Files.writeString(bare, "what the host has there");
      assertThat(files()).as("%s is bare", path).doesNotContain("masked-proc");
      Files.delete(bare);
      if (!folder) {
        Files.createSymbolicLink(seen, Path.of("/dev/null"));
      }
      tried++;
    }
    assertThat(tried).isPositive();
    assertThat(files()).contains("masked-proc");
  }

  /** As when somebody has put something else in the place of what is mounted for a mask. */
  @Test
  void aMaskThatIsAnotherDeviceIsNone() throws IOException {
    Path mask = process.resolve("root/proc/interrupts");
    Files.delete(mask);
    Files.createSymbolicLink(mask, Path.of("/dev/zero"));

    assertThat(files()).doesNotContain("masked-proc");
  }

  @Test
  void whatCanBeWrittenToInProcIsSeen() throws IOException {
    mounts.removeIf(line -> line.contains(" /proc/sys "));
    assertThat(files()).contains("read-only-root").doesNotContain("masked-proc");

    mount("/proc/sys", "rw");
    assertThat(files()).doesNotContain("masked-proc", "read-only-root");
  }

  @Test
  void aShareOfTheProcessorsThatIsLargerThanWasAskedForIsNoLimit() throws IOException {
    Path group = Files.createDirectory(process.resolve("group"));
    Files.writeString(group.resolve("memory.max"), "max\n");
    Files.writeString(group.resolve("pids.max"), "max\n");
    for (String quota : List.of("100000", "1000000", "max")) {
      Files.writeString(group.resolve("cpu.max"), quota + " 100000\n");
      var measures = new Measures();
      Inspection.limits(measures, new ControlGroup(Map.of(), group), LIMITS);

      assertThat(applied(measures).contains("cpu-limit"))
          .as(quota)
          .isEqualTo(quota.equals("100000"));
    }
  }

  @Test
  void whatTheGuestSaysOfItselfIsNotBelieved() throws IOException {
    List<String> report =
        List.of("+seccomp 2 filters", "+no-new-privileges set", "+no-capabilities none");
    assertThat(claimed(report))
        .containsExactlyInAnyOrder("seccomp", "no-new-privileges", "no-capabilities");

    Files.writeString(
        process.resolve("status"), "CapBnd:\t00000000000000ff\nNoNewPrivs:\t0\nSeccomp:\t0\n");
    assertThat(claimed(report)).isEmpty();
  }

  private List<String> claimed(List<String> report) throws IOException {
    Measures measures = new Measures().report(report);
    new Inspection(process).claims(measures);
    return applied(measures);
  }
}
