package dev.carrel.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who has which range, in a registry of the test's own. */
@Timeout(60)
final class IdRangesTest {
  private static final int AT_ONCE = 8;
  private static final int ROUNDS = 50;

  @TempDir private Path temporary;

  @Test
  void aRangeIsGivenBackOnlyByWhoseItIs() throws IOException {
    IdRanges ranges = new IdRanges(temporary.resolve("ids"), 1);
    Path gone = temporary.resolve("gone");
    int base = ranges.take(gone);
    Path other = Files.createDirectory(temporary.resolve("other"));
    assertThat(ranges.take(other)).as("free with its folder").isEqualTo(base);

    ranges.giveBack(base, gone);
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> ranges.take(other))
        .withMessageContaining("in use");

    ranges.giveBack(base, other);
    assertThat(ranges.take(other)).isEqualTo(base);
  }

  @Test
  void manyAtOnceNeverTakeTheSameOverFromOneWhoIsGone() throws Exception {
    List<Path> folders = new ArrayList<>();
    for (int i = 0; i < AT_ONCE; i++) {
      folders.add(Files.createDirectory(temporary.resolve("machine-" + i)));
    }
    for (int round = 0; round < ROUNDS; round++) {
      Path registry = Files.createDirectory(temporary.resolve("ids-" + round));
      for (int i = 0; i < AT_ONCE; i++) {
        Files.createSymbolicLink(registry.resolve("oci-" + i), temporary.resolve("gone"));
      }
      assertThat(takeAtOnce(new IdRanges(registry, AT_ONCE), folders)).doesNotHaveDuplicates();
    }
  }

  private static List<Integer> takeAtOnce(IdRanges ranges, List<Path> folders) throws Exception {
    var bases = new ArrayList<Integer>();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var taken = new ArrayList<Future<Integer>>();
      for (Path folder : folders) {
        taken.add(threads.submit(() -> ranges.take(folder)));
      }
      for (Future<Integer> one : taken) {
        bases.add(one.get());
      }
    }
    return bases;
  }
}
