package dev.carrel.control.audit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class JournalTest {
  @TempDir private Path folder;
  private Path file = Path.of("/nonexistent");

  @BeforeEach
  void name() {
    file = folder.resolve("audit.journal");
  }

  @Test
  void whatTheDatabaseHasNotIsThereAgain() throws IOException {
    try (Journal journal = Journal.open(file, 0)) {
      assertThat(journal.add(row("a", null))).isTrue();
      assertThat(journal.add(row("ü\n😀", "sb1"))).isTrue();
      assertThat(journal.add(row("", "sb2"))).isTrue();
    }
    assertThat(Files.getPosixFilePermissions(file)).hasSize(2);
    try (Journal journal = Journal.open(file, 1)) {
      assertThat(journal.after(0)).extracting(Journal.Noted::number).containsExactly(2L, 3L);
      assertThat(journal.after(0))
          .extracting(noted -> noted.row().body(), noted -> noted.row().sandbox())
          .containsExactly(tuple("ü\n😀", "sb1"), tuple("", "sb2"));
      assertThat(journal.after(2)).hasSize(1);
    }
  }

  @Test
  void numbersGoOnAfterThoseOfTheDatabase() {
    try (Journal journal = Journal.open(file, 41)) {
      journal.add(row("a", null));
      assertThat(journal.after(0)).extracting(Journal.Noted::number).containsExactly(42L);
    }
  }

  @Test
  void allThatCanBeCutOffTheEndIsTheLastOne() throws IOException {
    try (Journal journal = Journal.open(file, 0)) {
      journal.add(row("first", null));
      journal.add(row("second", "sb1"));
    }
    byte[] whole = Files.readAllBytes(file);
    for (int size = whole.length - 1; size > whole.length / 2; size--) {
      Files.write(file, Arrays.copyOf(whole, size));
      try (Journal journal = Journal.open(file, 0)) {
        assertThat(bodies(journal)).as("cut to %d bytes", size).containsExactly("first");
        journal.add(row("third", null));
      }
      try (Journal journal = Journal.open(file, 0)) {
        assertThat(bodies(journal)).containsExactly("first", "third");
      }
    }
  }

  @Test
  void whatWasChangedIsNotRead() throws IOException {
    try (Journal journal = Journal.open(file, 0)) {
      journal.add(row("first", null));
    }
    byte[] whole = Files.readAllBytes(file);
    for (int at = 0; at < whole.length; at++) {
      byte[] changed = whole.clone();
      changed[at] ^= 1;
      Files.write(file, changed);
      try (Journal journal = Journal.open(file, 0)) {
        assertThat(bodies(journal)).as("byte %d", at).isEmpty();
      }
    }
  }

  @Test
  void itIsEmptyWhenTheDatabaseHasAll() {
    try (Journal journal = Journal.open(file, 0)) {
      journal.add(row("a", null));
      journal.add(row("b", null));
      journal.written(1);
      assertThat(bodies(journal)).containsExactly("b");
      assertThat(file).isNotEmptyFile();
      journal.written(2);
      assertThat(journal.isEmpty()).isTrue();
      assertThat(file).isEmptyFile();
    }
  }

  @Test
  void itStaysSmallAlsoWhenSomebodyAlwaysWaits() throws IOException {
    String large = "x".repeat(1 << 20);
    try (Journal journal = Journal.open(file, 0)) {
      for (int i = 1; i <= 40; i++) {
        journal.add(row(large + i, null));
        journal.written(i - 1);
        assertThat(Files.size(file)).isLessThan(19 << 20);
      }
    }
    try (Journal journal = Journal.open(file, 39)) {
      assertThat(bodies(journal)).containsExactly(large + 40);
    }
    assertThat(folder).isDirectoryNotContaining("glob:**.draft");
  }

  @Test
  void thoseWhoWaitAreBounded() {
    try (Journal journal = Journal.open(file, 0)) {
      for (int i = 0; i < 10_000; i++) {
        assertThat(journal.add(row("a", null))).isTrue();
      }
      assertThat(journal.add(row("a", null))).isFalse();
      journal.written(1);
      assertThat(journal.add(row("a", null))).isTrue();
    }
  }

  private static List<String> bodies(Journal journal) {
    return journal.after(0).stream().map(noted -> noted.row().body()).toList();
  }

  private static StoredRecord row(String body, @Nullable String sandbox) {
    return new StoredRecord(0, 7, "acme", "default", sandbox, "exec.run", body, new byte[0]);
  }
}
