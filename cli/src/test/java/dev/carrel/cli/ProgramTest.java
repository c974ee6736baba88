package dev.carrel.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProgramTest {
  @TempDir private Path folder;

  @Test
  void extensionTellsTheLanguage() throws IOException {
    assertThat(Program.of(file("a.py", ""))).isEqualTo(Program.PYTHON);
    assertThat(Program.of(file("a.mjs", ""))).isEqualTo(Program.NODE);
    assertThat(Program.of(file("a.R", ""))).isEqualTo(Program.R);
    assertThat(Program.of(file("a.sh", ""))).isEqualTo(Program.BASH);
  }

  @Test
  void shebangTellsItWhereTheNameDoesNot() throws IOException {
    assertThat(Program.of(file("a", "#!/usr/bin/python3.11\n"))).isEqualTo(Program.PYTHON);
    assertThat(Program.of(file("b", "#!/usr/bin/env -S node\n"))).isEqualTo(Program.NODE);
    assertThat(Program.of(file("c", "#!/bin/sh -e\n"))).isEqualTo(Program.BASH);
    assertThat(Program.of(file("d", "#!/usr/bin/perl\n"))).isEqualTo(Program.ITSELF);
  }

  @Test
  void whatIsNeitherNamedNorExecutableIsRefused() throws IOException {
    Path text = file("notes.txt", "hello\n");

    assertThatThrownBy(() -> Program.of(text))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("notes.txt");
  }

  @Test
  void commandsNameTheFileInTheWorkingDirectory() {
    assertThat(Program.R.command("x.R", List.of("a"))).containsExactly("Rscript", "./x.R", "a");
    assertThat(Program.ITSELF.command("tool", List.of())).containsExactly("./tool");
  }

  private Path file(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text);
  }
}
