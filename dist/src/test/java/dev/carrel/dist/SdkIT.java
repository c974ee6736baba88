package dev.carrel.dist;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.cli.ServedServer;
import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.CarrelException;
import dev.carrel.sdk.CodeEvent;
import dev.carrel.sdk.CodeOptions;
import dev.carrel.sdk.CodeResult;
import dev.carrel.sdk.CodeStream;
import dev.carrel.sdk.ContextOptions;
import dev.carrel.sdk.Contexts;
import dev.carrel.sdk.ErrorCode;
import dev.carrel.sdk.EventStream;
import dev.carrel.sdk.ExecEvent;
import dev.carrel.sdk.ExecInfo;
import dev.carrel.sdk.ExecOptions;
import dev.carrel.sdk.ExecResult;
import dev.carrel.sdk.ExecStream;
import dev.carrel.sdk.FileWatch;
import dev.carrel.sdk.NetworkPolicy;
import dev.carrel.sdk.Sandbox;
import dev.carrel.sdk.SandboxOptions;
import dev.carrel.sdk.SnapshotInfo;
import dev.carrel.sdk.VolumeInfo;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The Java SDK against a real server. */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SdkIT {
  private ServedServer server;
  private Carrel carrel;
  private Sandbox sandbox;

  @BeforeAll
  void serve(@TempDir Path folder) throws IOException {
    server = new Desk(folder).serve();
    carrel = Carrel.connect(server.endpoint().address(), server.endpoint().token());
    sandbox = carrel.sandboxes().create();
  }

  @AfterAll
  void stop() {
    sandbox.delete();
    carrel.close();
    server.close();
  }

  @Test
  void theServerTellsAboutItself() {
    assertThat(carrel.health().status()).isEqualTo("ok");
    assertThat(carrel.languages()).containsExactlyInAnyOrder("python", "node", "r", "bash");
    assertThat(carrel.engines())
        .anySatisfy(
            engine -> {
              assertThat(engine.name()).isEqualTo("process");
              assertThat(engine.isolation()).isEqualTo("none");
            });
  }

  @Test
  void filesOutliveMachinesAndSandboxes() {
    Sandbox first =
        carrel
            .sandboxes()
            .create(
                SandboxOptions.defaults()
                    .withOnIdle("destroy")
                    .withMaxLife(Duration.ofHours(1))
                    .withVolume("lasting"));
    assertThat(first.info().onIdle()).isEqualTo("destroy");
    assertThat(first.info().maxLifeSeconds()).isEqualTo(3600);
    assertThat(first.info().persistent()).isTrue();
    first.exec("echo kept > file");
    assertThat(first.stop().info().status()).isEqualTo("stopped");
    assertThat(first.start().exec("cat file").stdout()).isEqualTo("kept\n");
    SnapshotInfo snapshot = first.snapshot("one");
    assertThat(carrel.snapshots().list()).contains(snapshot);
    assertThat(carrel.snapshots().get(snapshot.id()).sandboxId()).isEqualTo(first.id());
    Sandbox fork = first.fork();
    assertThat(fork.exec("cat file").stdout()).isEqualTo("kept\n");
    first.exec("rm file");
    assertThat(first.restore(snapshot.id()).exec("cat file").stdout()).isEqualTo("kept\n");
    assertThat(first.snapshots()).containsExactly(snapshot);
    assertThat(carrel.volumes().get("lasting").sandboxId()).isEqualTo(first.id());

    fork.delete();
    first.delete();
    carrel.snapshots().delete(snapshot.id());
    assertThat(carrel.volumes().list()).extracting(VolumeInfo::name).contains("lasting");
    carrel.volumes().delete("lasting");
    assertThatThrownBy(() -> carrel.volumes().get("lasting"))
        .isInstanceOfSatisfying(
            CarrelException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.VOLUME_NOT_FOUND));
    Sandbox brief = carrel.sandboxes().create(SandboxOptions.defaults().withEphemeral(true));
    assertThat(brief.info().persistent()).isFalse();
    brief.delete();
  }

  @Test
  void newsAreReadAndGoneOnWith() {
    Sandbox told;
    EventStream.Event created;
    try (EventStream news = carrel.events(null)) {
      told = carrel.sandboxes().create();
      created = next(news, told, "sandbox.created");
    }
    told.delete();
    try (EventStream news = carrel.events(created.id())) {
      assertThat(next(news, told, "sandbox.started").details()).containsEntry("cause", "created");
      next(news, told, "sandbox.destroyed");
    }
  }

  private static EventStream.Event next(EventStream news, Sandbox about, String kind) {
    while (true) {
      EventStream.Event event = news.next().orElseThrow();
      // Some news comes under a second name too.
      if (about.id().equals(event.sandboxId()) && event.kind().startsWith("sandbox.")) {
        assertThat(event.kind()).isEqualTo(kind);
        return event;
      }
    }
  }

  @Test
  void closingDeletesWhatCreateMade() {
    Sandbox made = Sandbox.create(carrel, SandboxOptions.defaults().withMemoryMb(64L));
    Sandbox found = carrel.sandboxes().get(made.id());
    found.close();
    assertThat(found.refresh().info().status()).isEqualTo("running");
    made.close();
    assertThatThrownBy(() -> carrel.sandboxes().get(made.id()))
        .isInstanceOfSatisfying(
            CarrelException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.SANDBOX_NOT_FOUND));
    SandboxOptions keyed = SandboxOptions.defaults().withSessionKey("lives on").withMemoryMb(64L);
    Sandbox kept = carrel.sandboxes().create(keyed);
    kept.close();
    assertThat(carrel.sandboxes().create(keyed).id()).isEqualTo(kept.id());
    kept.delete();
  }

  @Test
  void codeIsFollowedLive() {
    try (CodeStream stream = sandbox.runCodeStream(CodeOptions.of("bash", "echo told"))) {
      var said = new StringBuilder();
      for (CodeEvent event : stream) {
        if (event instanceof CodeEvent.Output output) {
          said.append(output.text());
        }
      }
      assertThat(said).hasToString("told\n");
    }
  }

  @Test
  void secretsAreUsedByNameAndNeverComeBack() {
    carrel.secrets().add("default", "SDK_KEY", "correct horse battery");
    ExecOptions options = ExecOptions.shell("echo \"$SDK_KEY\"").withSecrets(List.of("SDK_KEY"));
    assertThat(sandbox.exec(options).stdout()).isEqualTo("***REDACTED***\n");
    assertThat(carrel.secrets().rotate("default", "SDK_KEY", "another horse").version())
        .isEqualTo(2);
    carrel.secrets().delete("default", "SDK_KEY");
  }

  @Test
  void whatASandboxMayReachIsReadAndSet() {
    NetworkPolicy policy = NetworkPolicy.NOTHING.withAllow(List.of("example.com"));
    assertThat(sandbox.egress().set(policy).policy()).isEqualTo(policy);
    assertThat(sandbox.egress().get().policy()).isEqualTo(policy);
    assertThat(sandbox.egress().decisions()).isEmpty();
    sandbox.egress().set(NetworkPolicy.NOTHING);
  }

  @Test
  void aPathThatWouldNameAnotherResourceIsNotAskedFor() {
    assertThatThrownBy(() -> sandbox.files().delete("a/../../../snapshots", false))
        .isInstanceOfSatisfying(CarrelException.class, e -> assertThat(e.field()).contains("path"));
  }

  @Test
  void aSessionKeyGivesTheSameSandbox() {
    SandboxOptions options = SandboxOptions.defaults().withSessionKey("same").withMemoryMb(64L);
    Sandbox first = carrel.sandboxes().create(options);

    assertThat(carrel.sandboxes().create(options).id()).isEqualTo(first.id());
    assertThat(first.info().memoryMb()).isEqualTo(64);
    assertThat(first.update(Map.of("idle_timeout_seconds", 600)).info().idleTimeoutSeconds())
        .isEqualTo(600);
    first.delete();
  }

  @Test
  void failuresCarryCodeFieldAndStatus() {
    assertThatThrownBy(() -> carrel.sandboxes().get("sbaaaaaaaaaaaaaa"))
        .isInstanceOfSatisfying(
            CarrelException.class,
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.SANDBOX_NOT_FOUND);
              assertThat(e.status()).isEqualTo(404);
            });
    assertThatThrownBy(() -> carrel.sandboxes().create(SandboxOptions.defaults().withMemoryMb(1L)))
        .isInstanceOfSatisfying(
            CarrelException.class, e -> assertThat(e.field()).contains("memory_mb"));
  }

  @Test
  void aWrongTokenAndADeadServerAreToldApart() {
    try (Carrel stranger =
        Carrel.connect(server.endpoint().address(), "carrel_not-the-token-of-this-server")) {
      assertThatThrownBy(stranger::engines)
          .isInstanceOfSatisfying(
              CarrelException.class,
              e -> assertThat(e.code()).isEqualTo(ErrorCode.UNAUTHENTICATED));
    }
    try (Carrel nobody = Carrel.connect(URI.create("http://127.0.0.1:1"), "token")) {
      assertThatThrownBy(nobody::health)
          .hasMessageContaining("http://127.0.0.1:1: nothing listens there")
          .isInstanceOfSatisfying(
              CarrelException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNREACHABLE));
    }
  }

  @Test
  void aCommandIsAResult() {
    ExecResult result = sandbox.exec("echo out; echo err >&2; echo x > made; exit 5");

    assertThat(result.exitCode()).isEqualTo(5);
    assertThat(result.cause()).isEqualTo("returned");
    assertThat(result.stdout()).isEqualTo("out\n");
    assertThat(result.stderr()).isEqualTo("err\n");
    assertThat(result.filesChanged())
        .anySatisfy(change -> assertThat(change.path()).isEqualTo("made"));
  }

  @Test
  void eventsComeWhileTheCommandRuns() {
    ExecOptions options =
        ExecOptions.of(List.of("sh", "-c", "echo ready; read line; echo got $line"))
            .withStdinOpen(true);
    var seen = new StringBuilder();

    try (ExecStream exec = sandbox.execStream(options)) {
      for (ExecEvent event : exec) {
        switch (event) {
          case ExecEvent.Output output -> {
            seen.append(output.text());
            // The command waits for this: it could not come after the end.
            if (seen.toString().equals("ready\n")) {
              exec.write("it\n".getBytes(UTF_8), 3);
            }
          }
          case ExecEvent.Exited exited -> assertThat(exited.exitCode()).isZero();
          case ExecEvent.Started started -> assertThat(started.id()).isEqualTo(exec.id());
          case ExecEvent.Queued queued -> assertThat(queued.position()).isPositive();
          case ExecEvent.Gap gap -> assertThat(gap).isNull();
        }
      }
    }
    assertThat(seen).hasToString("ready\ngot it\n");
  }

  @Test
  void bytesArriveAsTheyAre() {
    var bytes = new ArrayList<Byte>();
    try (ExecStream exec =
        sandbox.execStream(ExecOptions.of(List.of("printf", "\\377\\000\\303")))) {
      for (ExecEvent event : exec) {
        if (event instanceof ExecEvent.Output output) {
          for (byte b : output.bytes()) {
            bytes.add(b);
          }
        }
      }
    }
    assertThat(bytes).containsExactly((byte) 0xff, (byte) 0, (byte) 0xc3);
  }

  @Test
  void signalsReachTheCommand() {
    try (ExecStream exec =
        sandbox.execStream(ExecOptions.shell("trap 'exit 9' INT; echo set; sleep 60 & wait"))) {
      int code = -1;
      for (ExecEvent event : exec) {
        if (event instanceof ExecEvent.Output) {
          exec.signal("SIGINT");
        } else if (event instanceof ExecEvent.Exited exited) {
          code = exited.exitCode();
        }
      }
      assertThat(code).isEqualTo(9);
    }
  }

  @Test
  void backgroundCommandsAreFoundAgainWithTheirOutput() {
    ExecInfo started = sandbox.execBackground(ExecOptions.shell("echo early; sleep 60"));

    assertThat(sandbox.execs()).anySatisfy(e -> assertThat(e.id()).isEqualTo(started.id()));
    try (ExecStream exec = sandbox.attach(started.id(), 0)) {
      for (ExecEvent event : exec) {
        if (event instanceof ExecEvent.Output output) {
          assertThat(output.text()).isEqualTo("early\n");
          exec.kill();
        } else if (event instanceof ExecEvent.Exited exited) {
          assertThat(exited.cause()).isEqualTo("killed");
        }
      }
    }
  }

  @Test
  void timeoutsAreResults() {
    ExecResult result =
        sandbox.exec(ExecOptions.shell("sleep 60").withTimeout(Duration.ofMillis(200)));

    assertThat(result.timedOut()).isTrue();
    assertThat(result.cause()).isEqualTo("timed_out");
  }

  @Test
  void contextsKeepTheirStateApart() {
    Contexts contexts = sandbox.contexts();
    Contexts.Context own =
        contexts.create("bash", ContextOptions.defaults().withEnv(Map.of("Y", "own")));
    sandbox.runCode("bash", "x=common");

    CodeResult mine =
        sandbox.runCode(CodeOptions.of("bash", "echo \"[$x]$Y\"").withContextId(own.id()));

    assertThat(mine.stdout()).isEqualTo("[]own\n");
    assertThat(sandbox.runCode("bash", "echo $x").stdout()).isEqualTo("common\n");
    assertThat(contexts.list()).anySatisfy(c -> assertThat(c.id()).isEqualTo(own.id()));
    contexts.delete(own.id());
    assertThatThrownBy(() -> contexts.get(own.id())).isInstanceOf(CarrelException.class);
  }

  @Test
  void filesAreWrittenReadMovedFoundAndRemoved() {
    var files = sandbox.files();
    files.write("f/a b%20ü.txt", "one\ntwo\n".getBytes(UTF_8));

    assertThat(files.readAll("f/a b%20ü.txt")).asString(UTF_8).isEqualTo("one\ntwo\n");
    assertThat(files.stat("f/a b%20ü.txt").size()).isEqualTo(8);
    files.move("f/a b%20ü.txt", "f/b.txt");
    files.copy("f/b.txt", "f/c.txt");
    assertThat(files.glob("f", "*.txt").entries()).hasSize(2);
    assertThat(files.grep("f", "^tw", Map.of("context", 1)).matches())
        .anySatisfy(match -> assertThat(match.text()).isEqualTo("two"));
    assertThat(files.list("f")).extracting("name").containsExactlyInAnyOrder("b.txt", "c.txt");
    files.makeDirectory("f/d/e");
    files.delete("f", true);
    assertThat(files.find("f")).isEmpty();
  }

  @Test
  void aTerminalIsLeftAndJoinedAgain() {
    String id = sandbox.terminals().open().id();
    long offset;
    try (ExecStream screen = sandbox.terminals().attach(id, 0)) {
      type(screen, "kept=on-and-on; echo be''fore\n");
      offset = seen(screen, "before\r\n");
    }
    try (ExecStream screen = sandbox.terminals().attach(id, offset)) {
      screen.resize(41, 101);
      type(screen, "stty size; echo $kept\n");
      seen(screen, "41 101\r\non-and-on");
    }
    assertThat(sandbox.terminals().list()).extracting(ExecInfo::id).contains(id);
    assertThat(sandbox.terminals().link(id, false, Duration.ofMinutes(1)).url()).startsWith("ws:");
    sandbox.terminals().end(id);
    try (ExecStream screen = sandbox.terminals().attach(id, 0)) {
      assertThat(screen.waitFor()).hasValue(137);
    }
  }

  private static void type(ExecStream screen, String keys) {
    byte[] bytes = keys.getBytes(UTF_8);
    screen.write(bytes, bytes.length);
  }

  /** Reads until the screen has shown this; the offset after it. */
  private static long seen(ExecStream screen, String words) {
    var seen = new StringBuilder();
    for (ExecEvent event : screen) {
      if (event instanceof ExecEvent.Output output) {
        seen.append(new String(output.bytes(), UTF_8));
        if (seen.indexOf(words) >= 0) {
          return output.next();
        }
      }
    }
    throw new AssertionError(seen.toString());
  }

  @Test
  void aWatchSeesWhatHappensAfterItBegan() {
    sandbox.files().makeDirectory("watched");
    try (FileWatch watch = sandbox.files().watch("watched", true)) {
      sandbox.files().write("watched/new", new byte[] {1});

      assertThat(watch.next()).hasValueSatisfying(c -> assertThat(c.path()).contains("new"));
    }
  }
}
