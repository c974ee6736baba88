package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.dist.Desk.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code carrel run} where no server runs. */
@Timeout(120)
class RunIT {
  @TempDir private Path folder;
  private Desk desk;

  @BeforeEach
  void desk() throws IOException {
    desk = new Desk(folder);
  }

  @Test
  void streamsAndExitCodeAreTheProgramsAndNothingIsLeft() throws IOException {
    Set<String> before = temporaryFolders();

    Outcome outcome = desk.carrel("run", "-l", "bash", "-c", "echo out; echo err >&2; exit 3");

    assertThat(outcome).isEqualTo(new Outcome(3, "out\n", "err\n"));
    assertThat(temporaryFolders()).isEqualTo(before);
    assertThat(folder.resolve("data")).doesNotExist();
  }

  @Test
  void argumentsThatAreFilesLieBesideTheProgram() throws IOException {
    Path script = Files.writeString(folder.resolve("job.sh"), "cat \"$1\"; echo \"$2\"\n");
    Path data = Files.writeString(folder.resolve("data.csv"), "a,b\n");

    Outcome outcome = desk.carrel("run", script.toString(), data.toString(), "plain");

    assertThat(outcome).isEqualTo(new Outcome(0, "a,b\nplain\n", ""));
  }

  @Test
  void theProgramMayComeFromStandardInput() {
    assertThat(desk.carrelWith("echo $((6 * 7))", "run", "--language", "bash", "-"))
        .isEqualTo(new Outcome(0, "42\n", ""));
  }

  @Test
  void standardInputPassesToTheProgram() {
    assertThat(desk.carrelWith("hello\n", "run", "-l", "bash", "-c", "tr a-z A-Z"))
        .isEqualTo(new Outcome(0, "HELLO\n", ""));
  }

  @Test
  void shebangTellsTheLanguage() throws IOException {
    Path script =
        Files.writeString(folder.resolve("job"), "#!/usr/bin/env bash\necho $BASH_VERSION\n");

    Outcome outcome = desk.carrel("run", script.toString());

    assertThat(outcome.code()).isZero();
    assertThat(outcome.out()).matches("\\d+\\..*\n");
  }

  @Test
  void filesThatTheProgramMadeAreCopiedWhenAsked() {
    Path results = folder.resolve("results");

    Outcome outcome =
        desk.carrel(
            "run", "-o", results.toString(), "-l", "bash", "-c", "mkdir d; echo x > d/made.txt");

    assertThat(outcome.code()).as(outcome.err()).isZero();
    assertThat(results.resolve("d/made.txt")).hasContent("x\n");
  }

  @Test
  void whatCannotBeCopiedDoesNotCostTheRest() throws IOException {
    Path results = Files.createDirectories(folder.resolve("results"));
    Files.createDirectories(results.resolve("b.txt/taken"));

    Outcome outcome =
        desk.carrel(
            "run",
            "-o",
            results.toString(),
            "-l",
            "bash",
            "-c",
            "ln -s nowhere a; mkfifo a.pipe; echo x > b.txt; echo y > z.txt");

    assertThat(results.resolve("z.txt")).hasContent("y\n");
    assertThat(outcome.err())
        .contains("copied: a is no file", "copied: a.pipe is no file", "copied: b.txt: ");
    assertThat(outcome.code()).isEqualTo(125);
  }

  @Test
  void filesOfOneNameAreRefusedBeforeOneReplacesTheOther() throws IOException {
    Path script = Files.writeString(folder.resolve("job.sh"), "cat \"$1\" \"$2\"\n");
    Path one = Files.writeString(folder.resolve("data.csv"), "1\n");
    Path other = Files.createDirectories(folder.resolve("d")).resolve("data.csv");
    Path program = Files.writeString(folder.resolve("d/job.sh"), "3\n");
    Files.writeString(other, "2\n");

    Outcome refused = desk.carrel("run", script.toString(), one.toString(), other.toString());
    assertThat(refused.code()).isEqualTo(125);
    assertThat(refused.err()).contains(other.toString(), "data.csv", "another name");
    assertThat(desk.carrel("run", script.toString(), program.toString()).code()).isEqualTo(125);
    assertThat(desk.carrel("run", script.toString(), one.toString(), one.toString()))
        .isEqualTo(new Outcome(0, "1\n1\n", ""));
  }

  @Test
  void jsonIsOneObject() {
    Outcome outcome = desk.carrel("run", "--json", "-l", "bash", "-c", "echo out; exit 4");

    assertThat(outcome.code()).isEqualTo(4);
    assertThat(outcome.out())
        .contains("\"exit_code\" : 4", "\"stdout\" : \"out\\n\"", "\"cause\" : \"returned\"");
  }

  @Test
  void timeoutKillsAndSaysSo() {
    Outcome outcome =
        desk.carrel("run", "--timeout", "0.3", "-l", "bash", "-c", "echo begun; sleep 60");

    assertThat(outcome.code()).isNotZero();
    assertThat(outcome.out()).isEqualTo("begun\n");
    assertThat(outcome.err()).contains("timed out");
  }

  @Test
  void whatCannotBeRunIsCarrelsFailureOrTheCallers() {
    Outcome absent = desk.carrel("run", folder.resolve("absent.py").toString());
    Outcome strange = desk.carrel("run", "-l", "cobol", "-c", "x");

    assertThat(absent.code()).isEqualTo(125);
    assertThat(absent.err()).contains("no such file");
    assertThat(strange.code()).isEqualTo(2);
    assertThat(strange.err()).contains("cobol", "python, node, r, bash");
  }

  private static Set<String> temporaryFolders() throws IOException {
    try (Stream<Path> all = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
      return all.map(Path::toString)
          .filter(name -> name.contains("/carrel-run-"))
          .collect(Collectors.toSet());
    }
  }
}
