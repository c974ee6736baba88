package dev.carrel.control.exec;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.guest.ExecSession;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class ExecsIT {
  private static final int FEWER_THAN_ARE_KEPT = 60;

  private ControlFixture fixture;
  private Execs execs;
  private Sandbox sandbox;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture();
    execs = fixture.control().execs();
    sandbox = fixture.sandbox();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void runGivesCodeStreamsAndChanges() throws InterruptedException {
    ExecResult result = run("echo out; echo err >&2; echo x > made.txt; exit 3");

    assertThat(result.exitCode()).isEqualTo(3);
    assertThat(result.stdout().text()).isEqualTo("out\n");
    assertThat(result.stderr().text()).isEqualTo("err\n");
    assertThat(result.cause()).isEqualTo(Cause.RETURNED);
    assertThat(result.filesChanged()).anyMatch(change -> change.path().equals("made.txt"));
    assertThat(result.duration()).isPositive();
  }

  @Test
  void environmentIsMergedAndTheCommandWins() throws InterruptedException {
    Sandbox own =
        fixture
            .control()
            .sandboxes()
            .create(ALICE, CreateSandbox.defaults().withEnvVars(Map.of("A", "box", "B", "box")));
    ExecResult result =
        execs.run(
            ALICE,
            own.id(),
            ExecStart.of(
                Command.shell("echo $A $B $HOME $LANG $USER")
                    .withEnvironment(Map.of("B", "command"))));

    assertThat(result.stdout().text()).isEqualTo("box command /workspace C.UTF-8 carrel\n");
  }

  @Test
  void timeoutKillsTheWholeTreeAndKeepsWhatWasWritten() throws InterruptedException {
    ExecResult result =
        execs.run(
            ALICE,
            sandbox.id(),
            ExecStart.of(
                Command.shell(
                        "echo before; (setsid sh -c 'trap \"\" TERM; echo $$ > pid; sleep 1000' &);"
                            + " sleep 1000")
                    .withTimeout(Duration.ofSeconds(2))));

    assertThat(result.timedOut()).isTrue();
    assertThat(result.cause()).isEqualTo(Cause.TIMED_OUT);
    assertThat(result.stdout().text()).isEqualTo("before\n");
    assertThat(result.hint()).isNotNull();
    long pid = Long.parseLong(run("cat pid").stdout().text().strip());
    eventually(() -> ProcessHandle.of(pid).isEmpty());
  }

  @Test
  void timeoutBeyondTheMaximumIsRefused() {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                execs.run(
                    ALICE,
                    sandbox.id(),
                    ExecStart.of(Command.of("true").withTimeout(Duration.ofDays(2)))))
        .matches(e -> e.field().orElse("").equals("timeout_seconds"));
  }

  @Test
  void closingAForegroundStreamKillsTheTree() throws InterruptedException {
    long pid;
    try (ExecStream stream =
        execs.start(
            ALICE, sandbox.id(), ExecStart.of(Command.shell("sleep 1000 & echo $!; wait")))) {
      assertThat(stream.next()).isInstanceOf(ExecEvent.Started.class);
      pid = Long.parseLong(text(stream.next()).strip());
    }
    eventually(() -> ProcessHandle.of(pid).isEmpty());
  }

  @Test
  void interruptingRunKillsTheTree() throws InterruptedException {
    Thread runner =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    run("echo $$ > pid; sleep 1000");
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
    eventually(() -> execs.list(ALICE, sandbox.id()).size() == 1);
    runner.interrupt();
    runner.join();
    eventually(() -> execs.list(ALICE, sandbox.id()).stream().noneMatch(Exec::running));
    assertThat(execs.list(ALICE, sandbox.id()).getFirst().exited())
        .satisfies(exited -> assertThat(exited.cause()).isEqualTo(Cause.KILLED));
  }

  @Test
  void interruptingRunBeforeTheGuestHasAnsweredKillsTheTree() throws Exception {
    String mark = "1000." + System.nanoTime();
    List<ProcessHandle> guest = processes(sandbox.id().value());
    signal(guest, "-STOP");
    Thread runner = Thread.ofVirtual().start(() -> runUntilInterrupted("sleep " + mark));
    try {
      eventually(() -> awaitsAnswer(runner));
      runner.interrupt();
      assertThat(runner.join(Duration.ofSeconds(20))).isTrue();
    } finally {
      signal(guest, "-CONT");
    }
    // By then the guest has read what came before.
    run("true");
    eventually(() -> processes(mark).isEmpty());
  }

  private static boolean awaitsAnswer(Thread thread) {
    return Arrays.stream(thread.getStackTrace())
        .anyMatch(frame -> frame.getClassName().equals(ExecSession.class.getName()));
  }

  private void runUntilInterrupted(String line) {
    try {
      run(line);
    } catch (InterruptedException | SandboxException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static List<ProcessHandle> processes(String word) {
    return ProcessHandle.allProcesses()
        .filter(process -> process.info().commandLine().orElse("").contains(word))
        .toList();
  }

  private static void signal(List<ProcessHandle> processes, String signal) throws Exception {
    for (ProcessHandle process : processes) {
      new ProcessBuilder("kill", signal, Long.toString(process.pid())).start().waitFor();
    }
  }

  @Test
  void backgroundExecsAreListedFollowedAndSignalled() throws InterruptedException {
    ExecStream own =
        execs.start(
            ALICE,
            sandbox.id(),
            ExecStart.of(Command.shell("echo one; sleep 1000")).inBackground());
    own.close();
    var id = own.id();
    eventually(() -> execs.get(ALICE, sandbox.id(), id).outputEnd() == 4);
    assertThat(execs.get(ALICE, sandbox.id(), id).running()).isTrue();

    try (ExecStream follower = execs.follow(ALICE, sandbox.id(), id, 2)) {
      assertThat(follower.next()).isInstanceOf(ExecEvent.Started.class);
      assertThat(text(follower.next())).isEqualTo("e\n");
      assertThat(follower.next(Duration.ofMillis(10))).isEqualTo(ExecStream.NOTHING);
      execs.signal(ALICE, sandbox.id(), id, 15, SignalScope.TREE);
      assertThat(follower.next())
          .isInstanceOfSatisfying(
              ExecEvent.Exited.class,
              exited -> {
                assertThat(exited.cause()).isEqualTo(Cause.KILLED);
                assertThat(exited.signal()).isEqualTo(15);
                assertThat(exited.code()).isEqualTo(143);
              });
      assertThat(follower.next()).isNull();
    }
    assertThat(execs.result(ALICE, sandbox.id(), id).stdout().text()).isEqualTo("one\n");
  }

  @Test
  void standardInputReachesTheProgram() throws InterruptedException {
    ExecResult result =
        execs.run(
            ALICE,
            sandbox.id(),
            ExecStart.of(Command.of("cat")).withInput("hello".getBytes(StandardCharsets.UTF_8)));

    assertThat(result.stdout().text()).isEqualTo("hello");
  }

  @Test
  void inputThatIsNeverReadDoesNotKeepTheTimeoutFromWorking() throws InterruptedException {
    ExecResult result =
        execs.run(
            ALICE,
            sandbox.id(),
            ExecStart.of(Command.of("sleep", "1000").withTimeout(Duration.ofMillis(500)))
                .withInput(new byte[4 << 20]));

    assertThat(result.timedOut()).isTrue();
  }

  @Test
  void aTerminalIsOneWithItsSizeAndType() throws InterruptedException {
    ExecResult result =
        execs.run(
            ALICE,
            sandbox.id(),
            ExecStart.of(
                Command.shell("stty size; echo $TERM")
                    .withTerminal(new Command.TerminalSize(33, 77))));

    assertThat(result.stdout().text()).isEqualTo("33 77\r\nxterm-256color\r\n");
  }

  @Test
  void crashAndMissingProgramAreToldApart() throws InterruptedException {
    ExecResult crash = run("kill -SEGV $$");
    assertThat(crash.cause()).isEqualTo(Cause.CRASHED);
    assertThat(crash.exitCode()).isEqualTo(139);
    assertThat(crash.hint()).contains("segmentation fault");

    ExecResult absent = execs.run(ALICE, sandbox.id(), ExecStart.of(Command.of("no-such-program")));
    assertThat(absent.cause()).isEqualTo(Cause.NOT_STARTED);
    assertThat(absent.exitCode()).isEqualTo(127);
    assertThat(absent.message()).isNotNull();

    // Nobody but itself: no proof of anything else.
    ExecResult own = run("kill -KILL $$");
    assertThat(own.cause()).isEqualTo(Cause.SIGNALLED);
  }

  @Test
  void longOutputIsCutInTheMiddleAndCanBeFetchedInFull() throws InterruptedException {
    ExecResult result = run("seq 1 100000");

    assertThat(result.stdout().truncated()).isTrue();
    assertThat(result.stdout().text()).startsWith("1\n2\n").endsWith("99999\n100000\n");
    assertThat(result.stdout().text().length()).isLessThan(51_000);
    assertThat(result.spillTruncated()).isFalse();

    var all = new StringBuilder();
    long from = 0;
    ExecOutput piece;
    do {
      piece = execs.output(ALICE, sandbox.id(), result.id(), from, 100_000);
      piece.chunks().forEach(chunk -> all.append(text(chunk)));
      from = piece.next();
    } while (from < piece.end());
    var expected = new StringBuilder();
    for (int i = 1; i <= 100_000; i++) {
      expected.append(i).append('\n');
    }
    assertThat(all.toString()).isEqualTo(expected.toString());
    assertThat(piece.running()).isFalse();
  }

  @Test
  void aForegroundReaderGetsEveryByteBeyondTheSpillLimit() throws Exception {
    fixture.close();
    fixture = new ControlFixture(settings -> settings.withExecs(small(settings.execs())));
    execs = fixture.control().execs();
    sandbox = fixture.sandbox();
    long total = 0;
    boolean gap = false;
    try (ExecStream stream =
        execs.start(
            ALICE, sandbox.id(), ExecStart.of(Command.shell("head -c 30000000 /dev/zero")))) {
      for (ExecEvent event = stream.next(); event != null; event = stream.next()) {
        if (event instanceof ExecEvent.Output output) {
          total += output.bytes().remaining();
        }
        gap |= event instanceof ExecEvent.Gap;
      }
      assertThat(total).isEqualTo(30_000_000);
      assertThat(gap).isFalse();
      assertThat(stream.result().spillTruncated()).isTrue();
      // Afterwards the beginning and the end are there, and the hole is declared.
      var late = new ArrayList<ExecEvent>();
      try (ExecStream again = execs.follow(ALICE, sandbox.id(), stream.id(), 0)) {
        for (ExecEvent event = again.next(); event != null; event = again.next()) {
          late.add(event);
        }
      }
      assertThat(late).hasAtLeastOneElementOfType(ExecEvent.Gap.class);
      long seen = 0;
      for (ExecEvent event : late) {
        seen +=
            switch (event) {
              case ExecEvent.Output output -> output.bytes().remaining();
              case ExecEvent.Gap(long bytes) -> bytes;
              case ExecEvent.Started _, ExecEvent.Exited _ -> 0;
            };
      }
      assertThat(seen).isEqualTo(30_000_000);
    }
  }

  @Test
  void whatAnExecLeavesBehindCanStillBeEnded() throws InterruptedException {
    ExecResult result = run("sleep 1000 >/dev/null 2>&1 & echo $!");
    long pid = Long.parseLong(result.stdout().text().strip());
    assertThat(ProcessHandle.of(pid)).isPresent();
    execs.signal(ALICE, sandbox.id(), result.id(), 9, SignalScope.TREE);
    eventually(() -> ProcessHandle.of(pid).isEmpty());
  }

  @Test
  void aGigabyteOfOutputLeavesTheHeapAsItWas() throws InterruptedException {
    run("head -c 10000000 /dev/zero");
    long before = usedHeap();
    ExecResult result = run("head -c 1000000000 /dev/zero");
    long growth = usedHeap() - before;

    assertThat(result.outputEnd()).isEqualTo(1_000_000_000);
    assertThat(result.stdout().totalBytes()).isEqualTo(1_000_000_000);
    assertThat(result.stdout().truncated()).isTrue();
    assertThat(result.spillTruncated()).isTrue();
    assertThat(growth).isLessThan(16 << 20);
    var folder = fixture.data().resolve("execs").resolve(sandbox.id().value());
    assertThat(folder.resolve(result.id() + ".out").toFile().length())
        .isBetween(64L << 20, 66L << 20);
  }

  private static long usedHeap() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  @Test
  void shuttingDownEndsTheWaitAndNotTheCommand() throws Exception {
    ExecStream stream = execs.start(ALICE, sandbox.id(), ExecStart.of(Command.shell("sleep 1000")));
    assertThat(stream.next()).isInstanceOf(ExecEvent.Started.class);
    fixture.restart();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(stream::next)
        .matches(e -> e.code() == ErrorCode.SHUTTING_DOWN);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(stream::result)
        .matches(e -> e.code() == ErrorCode.SHUTTING_DOWN);
    stream.close();
    assertThat(fixture.control().execs().get(ALICE, sandbox.id(), stream.id()).running()).isTrue();
  }

  @Test
  void tooManyAtOnceAreRefusedByName() throws Exception {
    var streams = new ArrayList<ExecStream>();
    for (int i = 0; i < 64; i++) {
      streams.add(
          execs.start(
              ALICE, sandbox.id(), ExecStart.of(Command.of("sleep", "1000")).inBackground()));
    }
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run("true"))
        .matches(e -> e.code() == ErrorCode.LIMIT_REACHED)
        .matches(e -> e.hint().orElse("").contains("exec.max-concurrent"));
    execs.signal(ALICE, sandbox.id(), streams.getFirst().id(), 9, SignalScope.TREE);
    streams.getFirst().result();
    assertThat(run("true").exitCode()).isZero();
  }

  @Test
  void whatRunsIsJoinedThoughTheLimitWasLowered() throws Exception {
    var most = new AtomicInteger(2);
    fixture.close();
    fixture =
        new ControlFixture(settings -> settings.withExecs(atMost(most.get(), settings.execs())));
    execs = fixture.control().execs();
    sandbox = fixture.sandbox();
    var ids = new ArrayList<ExecId>();
    for (int i = 0; i < 2; i++) {
      ExecStart sleeping = ExecStart.of(Command.of("sleep", "1000")).inBackground();
      ids.add(execs.start(ALICE, sandbox.id(), sleeping).id());
    }
    most.set(1);
    execs = fixture.restart().execs();

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run("true"))
        .matches(e -> e.code() == ErrorCode.LIMIT_REACHED);
    for (ExecId id : ids) {
      try (ExecStream stream = execs.follow(ALICE, sandbox.id(), id, 0)) {
        execs.signal(ALICE, sandbox.id(), id, 15, SignalScope.TREE);
        assertThat(stream.result().cause()).isEqualTo(Cause.KILLED);
      }
    }
    assertThat(run("true").exitCode()).isZero();
  }

  @Test
  void anotherTenantSeesNothing() throws InterruptedException {
    ExecResult result = run("echo secret");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> execs.get(MALLORY, sandbox.id(), result.id()))
        .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> execs.run(MALLORY, sandbox.id(), ExecStart.of(Command.of("true"))))
        .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
  }

  @Test
  void endedExecsAreKeptUpToABound() throws InterruptedException {
    for (int i = 0; i < 70; i++) {
      run("seq 1 20000");
    }
    // The last 64, and a few more before they are removed together.
    eventually(() -> execs.list(ALICE, sandbox.id()).size() == 65);
    var folder = fixture.data().resolve("execs").resolve(sandbox.id().value());
    eventually(() -> String.valueOf(folder.toFile().list().length).equals("65"));
  }

  @Test
  void whatHasEndedIsAlwaysListedAndAsEnded() throws InterruptedException {
    var ended = ConcurrentHashMap.<ExecId>newKeySet();
    Thread running = Thread.ofVirtual().start(() -> runSome(ended));
    while (running.isAlive()) {
      Set<ExecId> before = Set.copyOf(ended);
      assertThat(execs.list(ALICE, sandbox.id()))
          .filteredOn(exec -> !exec.running())
          .extracting(Exec::id)
          .containsAll(before);
    }
    assertThat(ended).hasSize(FEWER_THAN_ARE_KEPT);
  }

  private void runSome(Set<ExecId> ended) {
    try {
      for (int i = 0; i < FEWER_THAN_ARE_KEPT; i++) {
        ended.add(run("sleep 0.03").id());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void deletingTheSandboxEndsItsExecsAndTheirFiles() throws Exception {
    run("seq 1 100000");
    ExecStream stream = execs.start(ALICE, sandbox.id(), ExecStart.of(Command.of("sleep", "1000")));
    fixture.control().sandboxes().delete(ALICE, sandbox.id());

    assertThat(stream.result().cause()).isIn(Cause.SANDBOX_LOST, Cause.KILLED);
    var folder = fixture.data().resolve("execs").resolve(sandbox.id().value());
    assertThat(folder).doesNotExist();
  }

  private static ExecSettings small(ExecSettings usual) {
    return new ExecSettings(
        usual.defaultTimeout(),
        usual.maxTimeout(),
        usual.maxBackgroundTimeout(),
        usual.maxConcurrent(),
        usual.maxRetained(),
        usual.stdoutChars(),
        usual.stderrChars(),
        DataSize.ofMebibytes(1),
        usual.spillPerSandbox(),
        usual.maxStdin());
  }

  private static ExecSettings atMost(int concurrent, ExecSettings usual) {
    return new ExecSettings(
        usual.defaultTimeout(),
        usual.maxTimeout(),
        usual.maxBackgroundTimeout(),
        concurrent,
        usual.maxRetained(),
        usual.stdoutChars(),
        usual.stderrChars(),
        usual.spill(),
        usual.spillPerSandbox(),
        usual.maxStdin());
  }

  private ExecResult run(String line) throws InterruptedException {
    return execs.run(ALICE, sandbox.id(), ExecStart.of(Command.shell(line)));
  }

  private static String text(@Nullable ExecEvent event) {
    ByteBuffer bytes = ((ExecEvent.Output) Objects.requireNonNull(event)).bytes().duplicate();
    return StandardCharsets.UTF_8.decode(bytes).toString();
  }
}
