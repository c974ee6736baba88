package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.cli.ServedServer;
import dev.carrel.dist.Desk.Outcome;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The commands against one real server, found as users' commands find theirs. */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CommandLineIT {
  /** What bash does with the words of a line. */
  private static final String COMPLETE =
      "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1));"
          + " _complete_carrel_calmly; printf '%s\\n' \"${COMPREPLY[@]}\"";

  private Path folder = Path.of("");
  private Desk desk;
  private ServedServer server;

  @BeforeAll
  void serve(@TempDir Path temporary) throws IOException {
    folder = temporary;
    desk = new Desk(folder);
    server = desk.serve();
  }

  @AfterAll
  void stop() {
    desk.carrel("sandbox", "delete", "--all");
    server.close();
  }

  @Test
  void aSandboxIsMadeShownListedAndDeleted() {
    String id = desk.carrel("sandbox", "create", "-q", "-m", "purpose=demo").out().strip();

    assertThat(id).matches("sb[a-z2-7]{14}");
    assertThat(desk.carrel("sandbox", "list").out()).contains(id, "running", "none");
    assertThat(desk.carrel("sandbox", "show", id).out()).contains(id, "purpose", "demo", "512 MB");
    assertThat(desk.carrel("sandbox", "show", "--json", id).out()).contains("\"id\" : \"" + id);
    assertThat(desk.carrel("sandbox", "delete", id)).isEqualTo(new Outcome(0, id + "\n", ""));
    Outcome gone = desk.carrel("sandbox", "show", id);
    assertThat(gone.code()).isEqualTo(125);
    assertThat(gone.err()).contains(id, "hint: 'carrel sandbox list'");
  }

  @Test
  void whatASandboxMayReachIsShownAndChanged() {
    String id =
        desk.carrel("sandbox", "create", "-q", "--preset", "github", "--allow", "a.example")
            .out()
            .strip();
    assertThat(desk.carrel("egress", "show", id).out())
        .contains("preset   github", "allow    a.example", "used     0 bytes out");
    assertThat(desk.carrel("egress", "allow", id, "*.B.example", "c.example:8443").out())
        .contains("allow    *.b.example", "allow    c.example:8443");
    assertThat(desk.carrel("egress", "deny", id, "bad.b.example").out())
        .contains("deny     bad.b.example");
    assertThat(desk.carrel("egress", "remove", id, "a.example", "github").out())
        .doesNotContain("a.example\n", "github");
    Outcome unknown = desk.carrel("egress", "remove", id, "a.example");
    assertThat(unknown.code()).isNotZero();
    assertThat(unknown.err()).contains("the policy has no 'a.example'");
    assertThat(desk.carrel("egress", "set", id, "--max-bytes", "5000", "--json").out())
        .contains("\"max_bytes\" : 5000", "c.example:8443");
    Outcome refused = desk.carrel("egress", "allow", id, "*");
    assertThat(refused.code()).isNotZero();
    assertThat(refused.err()).contains("a star stands only in front");

    desk.carrel("exec", id, "--", "sh", "-c", "curl -s http://no.example/");
    assertThat(desk.carrel("egress", "decisions", id).out())
        .contains("denied", "no.example:80", "not_allowed");
    assertThat(desk.carrel("egress", "presets").out()).contains("github.com");
  }

  @Test
  void filesAreImportedAndExported() throws IOException {
    String id = desk.carrel("sandbox", "create", "-q").out().strip();
    String other = desk.carrel("sandbox", "create", "-q").out().strip();
    Path file = Files.writeString(folder.resolve("in.txt"), "1\n");
    assertThat(desk.carrel("import", id, file.toString(), "--to", "d/").out())
        .isEqualTo("/workspace/d/in.txt\n");
    assertThat(desk.carrel("import", id, "host:/etc/passwd").err()).contains("import.host-folders");
    assertThat(desk.carrel("export", id, "d").out()).contains("/api/v1/exports/xp", "signature=");
    assertThat(desk.carrel("export", id).out()).contains("/workspace/d");
    Outcome unknown = desk.carrel("export", id, "--remove", "a b");
    assertThat(unknown.code()).isEqualTo(125);
    assertThat(unknown.err()).contains("a b").doesNotContain("bug");
    assertThat(desk.carrel("import", other, id + ":d", "--json").out())
        .contains("\"success\" : true");
    assertThat(desk.carrel("exec", other, "--", "cat", "d/in.txt").out()).isEqualTo("1\n");
  }

  @Test
  void whatIsFetchedReplacesNothingButTheFileThatIsNamed() throws Exception {
    String id = desk.carrel("sandbox", "create", "-q").out().strip();
    desk.carrel("exec", id, "--", "sh", "-c", "echo new > f");
    Path file = Files.writeString(folder.resolve("kept.txt"), "old");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    Path link = Files.createSymbolicLink(folder.resolve("link.txt"), file);
    Path mine = Files.writeString(folder.resolve("link.txt.part"), "mine");

    assertThat(desk.carrel("files", "get", id, "f", link.toString()).code()).isZero();

    assertThat(link).isSymbolicLink();
    assertThat(file).hasContent("new\n");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-r-----");
    assertThat(mine).hasContent("mine");

    Path pipe = folder.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    Process reader = new ProcessBuilder("cat", pipe.toString()).start();
    try {
      assertThat(desk.carrel("files", "get", id, "f", pipe.toString()).code()).isZero();
      assertThat(Files.isRegularFile(pipe)).isFalse();
      assertThat(reader.inputReader().readLine()).isEqualTo("new");
    } finally {
      reader.destroy();
    }
  }

  @Test
  void aCommandWhoseOutputNobodyReadsEnds() {
    String id = desk.carrel("sandbox", "create", "-q").out().strip();
    desk.carrel("exec", id, "--", "sh", "-c", "echo text > f");

    assertThat(desk.carrelUnread("files", "get", id, "f", "-").code()).isEqualTo(141);
    assertThat(desk.carrelUnread("audit", "--export", "-").code()).isEqualTo(141);
    assertThat(desk.carrelUnread("code", id, "-l", "bash", "-c", "echo 1").code()).isEqualTo(141);
    assertThat(desk.carrelUnread("exec", id, "--", "echo", "1").code()).isEqualTo(141);
    assertThat(desk.carrelUnread("events", "--follow", "--after", "0"))
        .satisfies(
            ended -> {
              assertThat(ended.code()).isEqualTo(141);
              assertThat(ended.out().lines()).hasSize(1);
              assertThat(ended.err()).isEmpty();
            });
  }

  @Test
  void whatACommandLeavesIsSignedAndRecognised() throws IOException {
    String id = desk.carrel("sandbox", "create", "-q").out().strip();
    desk.carrel("exec", id, "--", "sh", "-c", "mkdir outputs; echo 1 > outputs/a.csv; echo 2 > b");
    assertThat(desk.carrel("artifacts", id).out()).contains("outputs/a.csv", "text/csv");
    Path manifest = folder.resolve("manifest.json");
    assertThat(desk.carrel("artifacts", id, "b", "--manifest", manifest.toString()).out())
        .contains("b ");
    assertThat(desk.carrel("artifacts", id, "none").err()).contains("not signed: none");

    Path file = Files.writeString(folder.resolve("a.csv"), "1\n");
    assertThat(desk.carrel("verify", file.toString()).out())
        .contains("valid", id, "outputs/a.csv")
        .doesNotContain("NOT");
    Path key = Files.writeString(folder.resolve("server.pub"), desk.carrel("audit", "--key").out());
    String[] offline = {
      "verify", file.toString(), "--manifest", manifest.toString(), "--key", key.toString()
    };
    assertThat(desk.carrel(offline).out()).contains("valid", "outputs/a.csv");
    Files.writeString(file, "3\n");
    assertThat(desk.carrel(offline).code()).isEqualTo(1);
    assertThat(desk.carrel("verify", file.toString()).out()).contains("NOT VALID");
    assertThat(desk.carrel("verify", file.toString(), "0".repeat(64)).code()).isEqualTo(1);
    assertThat(desk.carrel("verify", file.toString(), "QUJD", "--key", "nonsense").err())
        .contains("--key");
  }

  @Test
  void aPortIsLinkedTo() throws Exception {
    String id = desk.carrel("sandbox", "create", "-q").out().strip();
    String link = desk.carrel("open", id, "8000", "--expires", "60").out().strip();
    assertThat(link).contains("/app/" + id + "/8000/~");
    assertThat(desk.carrel("open", id, "8000", "--json").out()).contains("\"expires_at\"");
    assertThat(desk.carrel("open", id, "0").err()).contains("port");
    try (HttpClient client = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(URI.create(link)).build();
      assertThat(client.send(request, BodyHandlers.ofString()).body()).contains("port_closed");
    }
  }

  @Test
  void budgetsAreShownAndUsedUp() {
    String id = desk.carrel("sandbox", "create", "-q").out().strip();
    assertThat(desk.carrel("limits", "budget", id).out()).contains("executions", "none");
    assertThat(desk.carrel("limits", "budget", id, "--executions", "1").out())
        .containsPattern("executions +0 +1");
    desk.carrel("exec", id, "--", "true");
    Outcome refused = desk.carrel("exec", id, "--", "true");
    assertThat(refused.code()).isEqualTo(125);
    assertThat(refused.err()).contains("executions 1 of 1", "carrel limits budget");
    assertThat(desk.carrel("limits", "budget", id, "--executions", "none").out())
        .containsPattern("executions +1 +none");
    assertThat(desk.carrel("exec", id, "--", "true").code()).isZero();
    assertThat(desk.carrel("limits", "budget").err()).contains("either");
    assertThat(desk.carrel("limits").out()).contains("memory_mb", "max_pids");
  }

  @Test
  void settingsChangeAndComeBack() {
    assertThat(desk.carrel("settings").out()).contains("memory_mb", "512");
    assertThat(desk.carrel("settings", "memory_mb=96", "cpu_cores=0.5").out())
        .contains("memory_mb", "96", "512", "cpu_cores", "0.5")
        .doesNotContain("pids");
    String id = desk.carrel("sandbox", "create", "-q").out().strip();
    assertThat(desk.carrel("sandbox", "show", id).out()).contains("96 MB");
    assertThat(desk.carrel("settings", "memory_mb=").out()).contains("512").doesNotContain("96");
    assertThat(desk.carrel("settings", "--reset", "--json").out())
        .doesNotContain("\"changed\" : true");
    assertThat(desk.carrel("settings", "no_such=1").err()).contains("no such setting");
    assertThat(desk.carrel("settings", "pids=many").err()).contains("pids");
    assertThat(desk.carrel("settings", "oops").err()).contains("NAME=VALUE");
  }

  @Test
  void aPersonIsAskedDecidesAndTakesItBack() {
    String id = desk.carrel("sandbox", "create", "-q").out().strip();
    String asked = desk.carrel("approvals", "ask", id, "api.example", "--reason", "weather").out();
    String row = asked.lines().skip(1).findFirst().orElseThrow();
    String approval = row.substring(0, row.indexOf(' '));
    assertThat(asked).contains("pending", "egress", "api.example", "sandbox", id, "weather");
    assertThat(desk.carrel("approvals", "list", "--status", "pending").out()).contains(approval);
    assertThat(desk.carrel("approvals", "approve", approval, "--for", "8h").out())
        .contains("approved");
    assertThat(desk.carrel("egress", "show", id).out()).contains("granted  api.example");
    assertThat(desk.carrel("approvals", "deny", approval).code()).isEqualTo(125);
    assertThat(desk.carrel("approvals", "revoke", approval).out()).contains("withdrawn");
    assertThat(desk.carrel("egress", "show", id).out()).doesNotContain("granted");
    assertThat(desk.carrel("activity", id).out())
        .contains("create", "start", "approval.ask", "approval.approve", "approval.withdraw");
    assertThat(desk.carrel("approvals", "approve", approval, "--for", "soon").err())
        .contains("30m, 8h or 7d");
  }

  @Test
  void aSecretIsKeptUsedRotatedAndForgotten() {
    Outcome added = desk.carrel("vault", "add", "POEM", "walrus-and-carpenter");
    assertThat(added.out()).isEqualTo("POEM  version 1\n");
    assertThat(added.err()).contains("pipe it in");
    assertThat(desk.carrel("vault", "list").out())
        .contains("POEM", "store")
        .doesNotContain("walrus");
    String id = create();
    assertThat(
            desk.carrel("exec", "--secret", "POEM", id, "--", "sh", "-c", "echo $POEM ${#POEM}")
                .out())
        .isEqualTo("***REDACTED*** 20\n");
    assertThat(desk.carrel("vault", "rotate", "--json", "POEM", "jabberwocky").out())
        .contains("\"version\" : 2");
    assertThat(desk.carrel("vault", "rm", "POEM").out()).isEqualTo("POEM\n");
    assertThat(desk.carrel("vault", "rm", "POEM").err()).contains("no secret 'POEM'");
    desk.carrel("vault", "add", "OTHER", "x-other-value");
    Outcome partly = desk.carrel("vault", "rm", "POEM", "OTHER");
    assertThat(partly.out()).as("one that is not there keeps none").isEqualTo("OTHER\n");
    assertThat(partly.err()).contains("no secret 'POEM'");
    assertThat(partly.code()).isEqualTo(125);
    String bound =
        desk.carrel("vault", "add", "--json", "POEM", "x-value", "--host", "A.example").out();
    assertThat(bound).contains("\"a.example\"");
    assertThat(desk.carrel("vault", "list").out()).contains("POEM", "only for a.example");
    assertThat(desk.carrel("vault", "add", "B", "x-value", "--canary", "--host", "a.example").err())
        .contains("mutually exclusive");
  }

  @Test
  void codeIsLookedAtWithoutBeingRun() throws IOException {
    Path file = Files.writeString(folder.resolve("job.py"), "print(os.getcwd())\n");
    Outcome mended = desk.carrel("validate", "--fix", file.toString());
    assertThat(mended.code()).as(mended.err()).isZero();
    assertThat(Files.readString(file)).isEqualTo("import os\nprint(os.getcwd())\n");
    Files.writeString(file, "eval('1')\n");
    assertThat(desk.carrel("validate", file.toString()).code()).isZero();
    Outcome rejected = desk.carrel("validate", "--on-danger", "reject", file.toString());
    assertThat(rejected.code()).isEqualTo(1);
    assertThat(rejected.out()).contains("eval", "critical", "not valid");
  }

  @Test
  void aSandboxIsStoppedStartedForkedAndRestored() {
    String id = create();
    desk.carrel("exec", id, "--", "sh", "-c", "echo old > file");
    String snapshot = desk.carrel("snapshot", "create", id, "--name", "before").out().strip();
    assertThat(snapshot).matches("sn[a-z2-7]{14}");
    assertThat(desk.carrel("snapshot", "list").out()).contains(snapshot, id, "before");
    assertThat(desk.carrel("snapshot", "list", "--json", id).out()).contains("\"used_bytes\"");

    assertThat(desk.carrel("sandbox", "stop", id))
        .isEqualTo(new Outcome(0, id + "  stopped\n", ""));
    Outcome refused = desk.carrel("exec", id, "--", "true");
    assertThat(refused.code()).isEqualTo(125);
    assertThat(refused.err())
        .contains("is stopped", "start it again, its files are kept")
        .doesNotContain("(stopped)", "when you need it");
    assertThat(desk.carrel("sandbox", "show", id).out()).contains("kept when it stops");
    assertThat(desk.carrel("sandbox", "start", id).out()).isEqualTo(id + "  running\n");
    assertThat(desk.carrel("sandbox", "resume", "--json", id).out()).contains("\"running\"");
    Outcome pause = desk.carrel("sandbox", "pause", id);
    assertThat(pause.code()).isEqualTo(125);
    assertThat(pause.err()).contains("cannot pause");

    desk.carrel("exec", id, "--", "sh", "-c", "echo new > file");
    String fork = desk.carrel("sandbox", "fork", id).out().strip().split(" ", 2)[0];
    assertThat(desk.carrel("snapshot", "restore", snapshot, id).out()).contains("running");
    assertThat(desk.carrel("exec", id, "--", "cat", "file").out()).isEqualTo("old\n");
    assertThat(desk.carrel("exec", fork, "--", "cat", "file").out()).isEqualTo("new\n");
    String begun = desk.carrel("sandbox", "create", "-q", "--snapshot", snapshot).out().strip();
    assertThat(desk.carrel("exec", begun, "--", "cat", "file").out()).isEqualTo("old\n");
    assertThat(desk.carrel("snapshot", "delete", snapshot).out()).isEqualTo(snapshot + "\n");
  }

  @Test
  void aSkillIsKeptGivenAndRemoved(@TempDir Path folder) throws IOException {
    Path skill =
        Files.createDirectories(folder.resolve("greet/scripts")).resolveSibling("SKILL.md");
    Files.writeString(skill, "---\nname: greet\ndescription: Says hello.\n---\nHow.\n");
    Path script = folder.resolve("greet/scripts/say.sh");
    Files.writeString(script, "echo hello\n");
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
    Outcome added = desk.carrel("skills", "add", folder.resolve("greet").toString());
    assertThat(added).isEqualTo(new Outcome(0, "greet  version 1\n", ""));
    assertThat(desk.carrel("skills", "list").out()).contains("greet", "Says hello.");
    assertThat(desk.carrel("skills", "show", "greet").out()).contains("sha256:", "scripts/say.sh");
    assertThat(desk.carrel("skills", "show", "greet", "--file", "scripts/say.sh").out())
        .isEqualTo("echo hello\n");

    String id = create();
    assertThat(desk.carrel("skills", "install", id, "greet").out())
        .isEqualTo("greet  installed  /workspace/skills/greet\n");
    assertThat(desk.carrel("skills", "install", id, "greet").out()).contains("already there");
    assertThat(desk.carrel("exec", id, "--", "sh", "-c", "skills/greet/scripts/say.sh").out())
        .isEqualTo("hello\n");
    assertThat(desk.carrel("skills", "list", "--json", id).out()).contains("\"greet\"");
    Outcome missing = desk.carrel("skills", "install", id, "none");
    assertThat(missing.code()).isEqualTo(1);
    assertThat(missing.err()).contains("there is no skill none");
    assertThat(desk.carrel("skills", "rm", "greet").out()).isEqualTo("greet\n");
  }

  @Test
  void aVolumeGoesFromSandboxToSandbox() {
    assertThat(desk.carrel("volume", "create", "data", "--size", "64"))
        .isEqualTo(new Outcome(0, "data\n", ""));
    String first = desk.carrel("sandbox", "create", "-q", "--volume", "data").out().strip();
    desk.carrel("exec", first, "--", "sh", "-c", "echo kept > file");
    assertThat(desk.carrel("volume", "list").out()).contains("data", "64 MB", first);
    Outcome refused = desk.carrel("volume", "delete", "data");
    assertThat(refused.code()).isEqualTo(125);
    assertThat(refused.err()).contains(first);
    desk.carrel("sandbox", "delete", first);

    String second = desk.carrel("sandbox", "create", "-q", "--volume", "data").out().strip();
    assertThat(desk.carrel("exec", second, "--", "cat", "file").out()).isEqualTo("kept\n");
    desk.carrel("sandbox", "delete", second);
    assertThat(desk.carrel("volume", "delete", "--json", "data").out()).contains("data");
    assertThat(desk.carrel("volume", "list").err()).contains("no volumes");
  }

  @Test
  void execPassesStreamsInputVariablesAndExitCode() {
    String id = create();

    assertThat(desk.carrelWith("hello\n", "exec", id, "--", "tr", "a-z", "A-Z"))
        .isEqualTo(new Outcome(0, "HELLO\n", ""));
    assertThat(
            desk.carrel("exec", "-e", "A=b", id, "--", "sh", "-c", "echo $A; echo e >&2; exit 7"))
        .isEqualTo(new Outcome(7, "b\n", "e\n"));
    Outcome absent = desk.carrel("exec", id, "--", "no-such-program");
    assertThat(absent.code()).isEqualTo(127);
    assertThat(absent.err()).contains("could not be started", "'no-such-program'");
    assertThat(desk.carrel("exec", "-w", "/nosuch", id, "--", "true").err()).contains("'/nosuch'");
  }

  @Test
  void execJsonIsOneObjectAndDetachPrintsTheId() {
    String id = create();

    assertThat(desk.carrel("exec", "--json", id, "--", "echo", "x").out())
        .contains("\"stdout\" : \"x\\n\"");
    assertThat(desk.carrel("exec", "-d", id, "--", "sleep", "60").out())
        .matches("ex[a-z2-7]{14}\n");
  }

  @Test
  void codeKeepsStateAndFailsWithOne() {
    String id = create();

    assertThat(desk.carrel("code", id, "-l", "bash", "-c", "x=6").code()).isZero();
    assertThat(desk.carrel("code", id, "-l", "bash", "-c", "echo $((x * 7))"))
        .isEqualTo(new Outcome(0, "42\n", ""));
    assertThat(desk.carrel("code", id, "-l", "bash", "-c", "false").code()).isEqualTo(1);
    assertThat(desk.carrel("code", "--json", id, "-l", "bash", "-c", "echo $x").out())
        .contains("\"stdout\" : \"6\\n\"", "\"state\" : \"kept\"");
  }

  @Test
  void filesGoInAndOut() throws IOException {
    String id = create();
    Path tree = Files.createDirectories(folder.resolve("tree/sub"));
    byte[] bytes = {0, 1, 2, (byte) 0xff, '\n'};
    Files.write(tree.resolve("raw.bin"), bytes);

    Outcome put = desk.carrel("files", "put", id, folder.resolve("tree").toString());
    assertThat(put).isEqualTo(new Outcome(0, "tree/sub/raw.bin\n", ""));
    assertThat(desk.carrel("files", "ls", id, "tree").out()).contains("sub/");

    Path copy = folder.resolve("copy.bin");
    assertThat(desk.carrel("files", "get", id, "tree/sub/raw.bin", copy.toString()).code())
        .isZero();
    assertThat(copy).hasBinaryContent(bytes);

    Outcome refused = desk.carrel("files", "rm", id, "tree");
    assertThat(refused.code()).isEqualTo(125);
    assertThat(desk.carrel("files", "rm", "-r", id, "tree").code()).isZero();
    assertThat(desk.carrel("files", "ls", "--json", id).out()).doesNotContain("tree");
  }

  @Test
  void whatIsNotPutIsSaid() throws Exception {
    String id = create();
    Path tree = folder.resolve("put");
    Files.createDirectories(tree.resolve("none"));
    Path file = Files.writeString(tree.resolve("f"), "1");
    Files.createSymbolicLink(tree.resolve("link"), folder);
    Path pipe = folder.resolve("put.pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();

    Outcome put = desk.carrel("files", "put", id, tree.toString());
    assertThat(put.out().lines()).containsExactlyInAnyOrder("put/f", "put/none");
    assertThat(put.err()).isEqualTo("left out: " + tree.resolve("link") + "\n");
    assertThat(desk.carrel("files", "put", id, tree.toString()).out()).isEqualTo("put/f\n");

    Outcome named = desk.carrel("files", "put", id, file.toString(), "another.csv");
    assertThat(named.code()).isEqualTo(125);
    assertThat(named.err()).contains("no such file: another.csv", "--to");
    assertThat(desk.carrel("files", "get", id, "f", "-").code())
        .as("nothing is put")
        .isEqualTo(125);

    Process writer = new ProcessBuilder("sh", "-c", "echo hi > \"$0\"", "" + pipe).start();
    assertThat(desk.carrel("files", "put", id, pipe.toString(), "--to", "y").out())
        .isEqualTo("y\n");
    assertThat(writer.waitFor(30, TimeUnit.SECONDS)).isTrue();
    assertThat(desk.carrel("files", "get", id, "y", "-").out()).isEqualTo("hi\n");
  }

  @Test
  void standardInputAndOutputServeAsFiles() {
    String id = create();

    assertThat(desk.carrelWith("text\n", "files", "put", id, "-", "--to", "d/f").code()).isZero();
    assertThat(desk.carrel("files", "get", id, "d/f", "-")).isEqualTo(new Outcome(0, "text\n", ""));
  }

  @Test
  void doctorTellsOfEnginesAndProgramsAndItsCodeAgreesWithItsVerdict() {
    Outcome outcome = desk.carrel("doctor");

    assertThat(outcome.out()).contains("Engine process (none): isolation none", "Programs", "bash");
    assertThat(outcome.out())
        .contains(
            outcome.code() == 0
                ? "This host can run untrusted code in isolation."
                : "No engine here isolates.");
    assertThat(outcome.out())
        .as("what images can be built with, usable or not")
        .contains("Building images of the catalog")
        .containsPattern("mmdebstrap +(used|not usable) ")
        .containsPattern("docker +(used|usable|not usable) ");
    assertThat(outcome.out()).containsPattern("run folder +/\\S+ on [a-z0-9]+");
    assertThat(desk.carrel("doctor", "--json").out())
        .contains("\"engines\" : [", "\"builders\" : [");
  }

  @Test
  void typosAreUsageErrorsWithAGuess() {
    Outcome command = desk.carrel("sandbx");
    Outcome option = desk.carrel("sandbox", "create", "--memry", "1");

    assertThat(command.code()).isEqualTo(2);
    assertThat(command.err()).contains("sandbx", "sandbox", "--help");
    assertThat(option.code()).isEqualTo(2);
    assertThat(option.err()).contains("--memry", "--memory");
  }

  @Test
  void refusalsNameWhatWasTyped() {
    assertThat(desk.carrel("sandbox", "create", "--memory", "1").err())
        .contains("--memory: ", "16")
        .doesNotContain("memory_mb: ");
    assertThat(desk.carrel("events", "--limit", "0").err()).contains("--limit: ");
    assertThat(desk.carrel("sandbox", "fork", "nosuch").err())
        .contains("no such id: nosuch")
        .doesNotContain("nosuch: no such");
    String id = create();
    assertThat(desk.carrel("egress", "allow", id, "http://x.example").err())
        .contains("names a host alone")
        .doesNotContain("port '");
  }

  @Test
  void aValueThatTheServerRefusesIsWrongUsage() {
    String id = create();
    for (String line :
        List.of(
            "sandbox create --memory 1",
            "sandbox create --isolation foo",
            "open " + id + " 99999",
            "settings foo=1",
            "code " + id + " -l perl -c 1")) {
      assertThat(desk.carrel(line.split(" ", -1)).code()).as(line).isEqualTo(2);
    }
    assertThat(desk.carrel("code", "sbabcdefghijklmn", "-c", "1").code()).isEqualTo(125);
  }

  @Test
  void everyCommandHasHelpAndSoHaveThoseBelowIt() {
    for (String command : below(desk.carrel("--help").out())) {
      String help = help(command);
      if (!List.of("version", "bench").contains(command)) {
        assertThat(help).as(command).contains("Examples:\n  ");
      }
      below(help).forEach(one -> help(command, one));
    }
  }

  @Test
  void whatSpeaksAProtocolOffersNoJson() {
    assertThat(help("mcp")).doesNotContain("--json");
    assertThat(help("mcp", "install")).contains("--json");
  }

  private String help(String... command) {
    var arguments = new ArrayList<>(List.of(command));
    arguments.add("--help");
    Outcome help = desk.carrel(arguments.toArray(String[]::new));
    assertThat(help.code()).as("%s: %s", arguments, help.err()).isZero();
    assertThat(help.out()).contains("Usage: carrel " + String.join(" ", command));
    return help.out();
  }

  /** The commands that a help lists. */
  private static List<String> below(String help) {
    int list = help.indexOf("\nCommands:\n");
    return list < 0
        ? List.of()
        : Pattern.compile("(?m)^  ([a-z]+)[ ,]")
            .matcher(help.substring(list + 1).split("\n\n", 2)[0])
            .results()
            .map(found -> found.group(1))
            .toList();
  }

  @Test
  void everyCommandIsListedUnderItsOwnName() {
    String help = desk.carrel("--help").out();
    for (String command :
        new String[] {
          "run",
          "serve",
          "sandbox",
          "exec",
          "code",
          "files",
          "doctor",
          "bench",
          "completion",
          "version"
        }) {
      assertThat(help).containsPattern("(?m)^  " + command + "[ ,]");
      assertThat(desk.carrel(command, "--help").out()).startsWith("Usage: carrel " + command);
    }
  }

  @Test
  void completionIsValidShell() throws Exception {
    Path script = Files.writeString(folder.resolve("completion"), desk.carrel("completion").out());

    Process bash =
        new ProcessBuilder("bash", "-c", "source \"$0\" && complete -p carrel", script.toString())
            .redirectErrorStream(true)
            .start();

    assertThat(bash.waitFor(30, TimeUnit.SECONDS)).isTrue();
    assertThat(new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
        .contains("carrel");
    assertThat(bash.exitValue()).isZero();
  }

  @Test
  void completionOffersValues() throws Exception {
    Path script = Files.writeString(folder.resolve("values"), desk.carrel("completion").out());

    assertThat(completed(script, "run", "-l", "")).containsExactly("bash", "node", "python", "r");
    assertThat(completed(script, "sandbox", "create", "--isolation", "g"))
        .containsExactly("gvisor");
    assertThat(completed(script, "mcp", "install", "c")).containsExactly("claude", "cursor");
  }

  private static List<String> completed(Path script, String... words) throws Exception {
    var line = new ArrayList<>(List.of("bash", "-c", COMPLETE, script.toString(), "carrel"));
    line.addAll(List.of(words));
    // Outside of a completion bash complains of compopt.
    Process bash = new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    String said = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(bash.waitFor(30, TimeUnit.SECONDS)).isTrue();
    return said.lines().map(String::strip).sorted().toList();
  }

  @Test
  void versionIsPrintedEveryWay() {
    assertThat(desk.carrel("--version")).isEqualTo(desk.carrel("version"));
    assertThat(desk.carrel("version").out()).startsWith("carrel ");
    assertThat(desk.carrel("version", "--json").out()).contains("\"version\" :");
  }

  private String create() {
    Outcome outcome = desk.carrel("sandbox", "create", "-q");
    assertThat(outcome.code()).as(outcome.err()).isZero();
    return outcome.out().strip();
  }
}
