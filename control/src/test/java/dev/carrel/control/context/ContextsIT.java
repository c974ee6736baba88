package dev.carrel.control.context;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ContextsIT {
  /** Kernels hide their control channel; hostile code finds it all the same. */
  private static final String FIND_CONTROL =
      """
      import fcntl, os, stat, struct, time
      def is_control(fd):
          try:
              pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
              return pipe and fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY
          except OSError:
              return False
      def forge(data):
          for fd in [fd for fd in range(3, 1100) if is_control(fd)]:
              rest = data
              while rest: rest = rest[os.write(fd, rest):]
      """;

  private ControlFixture fixture;
  private Contexts contexts;
  private Sandbox sandbox;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture();
    contexts = fixture.control().contexts();
    sandbox = fixture.sandbox();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @ParameterizedTest
  @CsvSource({"PYTHON,6*7,42", "NODE,6*7,42", "R,6*7,[1] 42"})
  void theLastExpressionIsTheResult(Language language, String code, String expected)
      throws InterruptedException {
    CodeResult result = run(language, code);

    assertThat(result.error()).isNull();
    assertThat(result.success()).isTrue();
    assertThat(plain(result)).isEqualTo(expected);
    assertThat(result.state()).isEqualTo(CodeResult.State.KEPT);
    assertThat(result.executionCount()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource({
    "PYTHON,x = 41,print(x+1)",
    "NODE,const x = 41,console.log(x+1)",
    "R,x <- 41,cat(x+1)",
    "BASH,x=41,echo $((x+1))"
  })
  void stateIsKeptAndOutputComes(Language language, String first, String second)
      throws InterruptedException {
    run(language, first);
    CodeResult result = run(language, second);

    assertThat(result.stdout().text().strip()).isEqualTo("42");
    assertThat(result.executionCount()).isEqualTo(2);
    assertThat(contexts.list(ALICE, sandbox.id()))
        .singleElement()
        .satisfies(context -> assertThat(context.isDefault()).isTrue());
  }

  @Test
  void anErrorHasTypeMessageAndTraceback() throws InterruptedException {
    CodeResult result = run("1/0");

    assertThat(result.success()).isFalse();
    assertThat(result.error())
        .satisfies(
            error -> {
              assertThat(error.type()).isEqualTo("ZeroDivisionError");
              assertThat(error.traceback()).contains("1/0");
            });
    assertThat(result.cause()).isEqualTo(Cause.RETURNED);
  }

  @Test
  void eventsComeInOrderAndEndWithDone() throws InterruptedException {
    var events = new ArrayList<CodeEvent>();
    try (CodeStream stream =
        contexts.start(
            ALICE,
            sandbox.id(),
            ExecuteCode.of(
                Language.PYTHON,
                "import sys\nprint('a')\nprint('b', file=sys.stderr)\n"
                    + "class H:\n  def _repr_html_(self): return '<b>x</b>'\nH()"))) {
      for (CodeEvent event = stream.next(); event != null; event = stream.next()) {
        events.add(event);
      }
    }
    assertThat(events.getLast())
        .isInstanceOfSatisfying(
            CodeEvent.Done.class,
            done -> {
              assertThat(done.result().success()).isTrue();
              assertThat(done.result().stdout().text()).isEqualTo("a\n");
              assertThat(done.result().stderr().text()).isEqualTo("b\n");
              assertThat(done.result().displayOutputs())
                  .singleElement()
                  .satisfies(
                      item -> {
                        assertThat(item.mime()).isEqualTo("text/html");
                        assertThat(item.text()).isEqualTo("<b>x</b>");
                      });
            });
    assertThat(events).hasAtLeastOneElementOfType(CodeEvent.Output.class);
    assertThat(events).hasAtLeastOneElementOfType(CodeEvent.Result.class);
  }

  @Test
  void aTimeoutInterruptsAndKeepsTheState() throws InterruptedException {
    run("x = 1");
    CodeResult stopped = run("import time\ntime.sleep(1000)", Duration.ofMillis(300));

    assertThat(stopped.timedOut()).isTrue();
    assertThat(stopped.cause()).isEqualTo(Cause.TIMED_OUT);
    assertThat(stopped.error()).satisfies(e -> assertThat(e.type()).isEqualTo("TimeoutError"));
    assertThat(stopped.state()).isEqualTo(CodeResult.State.KEPT);
    assertThat(plain(run("x"))).isEqualTo("1");
  }

  @Test
  void codeThatIgnoresTheInterruptIsKilledAndSaysSo() throws InterruptedException {
    run("x = 1");
    CodeResult killed =
        run(
            "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
                + "time.sleep(1000)",
            Duration.ofSeconds(1));

    assertThat(killed.timedOut()).isTrue();
    assertThat(killed.state()).isEqualTo(CodeResult.State.LOST);
    assertThat(killed.hint()).contains("variables are gone");

    CodeResult next = run("'x' in globals()");
    assertThat(plain(next)).isEqualTo("False");
    assertThat(next.hint()).contains("started anew");
    assertThat(next.executionCount()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "import os; os._exit(3)|RETURNED|KernelDied",
        "import os; os.kill(os.getpid(), 11)|CRASHED|KernelCrashed",
        "import os; os.kill(os.getpid(), 9)|SIGNALLED|KernelDied",
      })
  void aDeadInterpreterIsAnAnswer(String code, Cause cause, String type)
      throws InterruptedException {
    CodeResult result = run(code);

    assertThat(result.success()).isFalse();
    assertThat(result.state()).isEqualTo(CodeResult.State.LOST);
    assertThat(result.cause()).isEqualTo(cause);
    assertThat(result.error()).satisfies(e -> assertThat(e.type()).isEqualTo(type));
    assertThat(plain(run("1+1"))).isEqualTo("2");
  }

  @Test
  void cellsQueueInOrderAndTheQueueIsBounded() throws InterruptedException {
    run("order = []");
    var failures = new CopyOnWriteArrayList<ErrorCode>();
    var threads = new ArrayList<Thread>();
    threads.add(
        inBackground(
            "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)", failures));
    eventually(() -> only().status() == Context.Status.BUSY);
    for (int i = 0; i < 16; i++) {
      int queued = i + 1;
      threads.add(inBackground("order.append(" + i + ")", failures));
      eventually(() -> only().queued() == queued);
    }
    inBackground("order.append(99)", failures).join();
    assertThat(failures).containsExactly(ErrorCode.LIMIT_REACHED);
    fixture.control().files().mkdir(ALICE, sandbox.id(), "go", false);
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(failures).hasSize(1);
    assertThat(plain(run("order")))
        .isEqualTo("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]");
  }

  @Test
  void theTimeSpentWaitingForAnInterpreterIsPartOfTheTimeout() throws InterruptedException {
    var failures = new CopyOnWriteArrayList<ErrorCode>();
    Thread first =
        inBackground("import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)", failures);
    eventually(
        () ->
            contexts.list(ALICE, sandbox.id()).stream()
                .anyMatch(context -> context.status() == Context.Status.BUSY));

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run("ran = True", Duration.ofMillis(100)))
        .matches(e -> e.code() == ErrorCode.LIMIT_REACHED)
        .withMessageContaining("all the time it had");
    assertThat(only().queued()).isZero();

    var second = new CompletableFuture<CodeResult>();
    Thread.ofVirtual()
        .start(
            () ->
                second.completeAsync(
                    () -> {
                      try {
                        return run("time.sleep(1000)", Duration.ofSeconds(4));
                      } catch (InterruptedException e) {
                        throw new CompletionException(e);
                      }
                    },
                    Runnable::run));
    eventually(() -> only().queued() == 1);
    long since = System.nanoTime();
    eventually(() -> System.nanoTime() - since > Duration.ofSeconds(2).toNanos());
    fixture.control().files().mkdir(ALICE, sandbox.id(), "go", false);
    first.join();
    CodeResult result = second.join();
    assertThat(result.timedOut()).isTrue();
    assertThat(result.queued()).isGreaterThan(Duration.ofSeconds(2));
    assertThat(result.duration()).isLessThan(Duration.ofSeconds(4));
    assertThat(plain(run("'ran' in dir()"))).isEqualTo("False");
    assertThat(failures).isEmpty();
  }

  @Test
  void interruptStopsTheCellOfAnother() throws InterruptedException {
    var result = new ArrayList<CodeResult>();
    Thread cell =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    result.add(run("import time\ntime.sleep(1000)"));
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
    eventually(
        () -> {
          List<Context> all = contexts.list(ALICE, sandbox.id());
          return all.size() == 1 && all.getFirst().status() == Context.Status.BUSY;
        });
    while (cell.isAlive()) {
      // The cell may not have reached its sleep yet.
      contexts.interrupt(ALICE, sandbox.id(), only().id());
      cell.join(Duration.ofMillis(100));
    }
    assertThat(result.getFirst().interrupted()).isTrue();
    assertThat(result.getFirst().state()).isEqualTo(CodeResult.State.KEPT);
  }

  @Test
  void contextsAreApartAndCanBeRestartedAndDeleted() throws InterruptedException {
    Context one =
        contexts.create(
            ALICE,
            sandbox.id(),
            new CreateContext(Language.PYTHON, null, Map.of("WHO", "one"), null, List.of()));
    Context two = contexts.create(ALICE, sandbox.id(), CreateContext.of(Language.PYTHON));
    assertThat(one.languageVersion()).startsWith("3.");
    in(one, "x = 1");

    assertThat(plain(in(one, "import os; os.environ['WHO']"))).isEqualTo("'one'");
    assertThat(in(two, "x").error()).satisfies(e -> assertThat(e.type()).isEqualTo("NameError"));

    contexts.restart(ALICE, sandbox.id(), one.id());
    assertThat(in(one, "x").error()).satisfies(e -> assertThat(e.type()).isEqualTo("NameError"));

    contexts.delete(ALICE, sandbox.id(), one.id());
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> in(one, "1"))
        .matches(e -> e.code() == ErrorCode.CONTEXT_NOT_FOUND);
    assertThat(plain(in(two, "1+1"))).isEqualTo("2");
  }

  @Test
  void restartEndsARunningCell() throws InterruptedException {
    run("1");
    var failures = new CopyOnWriteArrayList<ErrorCode>();
    Thread cell = inBackground("import time\ntime.sleep(1000)", failures);
    eventually(() -> only().status() == Context.Status.BUSY);
    contexts.restart(ALICE, sandbox.id(), only().id());
    cell.join();
    assertThat(plain(run("1+1"))).isEqualTo("2");
  }

  @Test
  void aMissingInterpreterIsNamedWithWhatToInstall() {
    Sandbox poor =
        fixture
            .control()
            .sandboxes()
            .create(ALICE, CreateSandbox.defaults().withEnvVars(Map.of("PATH", "/nonexistent")));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> contexts.execute(ALICE, poor.id(), ExecuteCode.of(Language.NODE, "1")))
        .matches(e -> e.code() == ErrorCode.LANGUAGE_NOT_AVAILABLE)
        .matches(e -> e.hint().orElse("").contains("apt-get install nodejs"));
    assertThat(contexts.list(ALICE, poor.id())).isEmpty();
  }

  @Test
  void outputBetweenCellsIsShownByTheNext() throws InterruptedException {
    run(
        "import threading\nt = threading.Timer(0.2, lambda: print('late', flush=True))\n"
            + "t.start()");
    var all = new StringBuilder();
    eventually(
        () -> {
          try {
            all.append(run("None").stdout().text());
            return all.toString().contains("late");
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        });
  }

  /** Its code waits in the channel: what it prints may come before the greeting. */
  @Test
  void whatAFirstCellPrintsIsItsOwn() throws InterruptedException {
    for (int i = 0; i < 50; i++) {
      CodeResult result =
          contexts.execute(ALICE, sandbox.id(), ExecuteCode.of(Language.BASH, "echo in"));
      assertThat(result.stdout().text()).isEqualTo("in\n");
      contexts.delete(ALICE, sandbox.id(), result.context());
    }
  }

  @Test
  void whatGoesOnPrintingSpoilsNoCell() throws InterruptedException {
    run(
        """
        import threading
        quiet = threading.Event()
        def talk():
            while not quiet.wait(0.00001):
                print("x" * 100)
        threading.Thread(target=talk, daemon=True).start()
        """);
    for (int i = 0; i < 500; i++) {
      assertThat(plain(run("1+1"))).isEqualTo("2");
    }
    run("quiet.set()");
  }

  @Test
  void closingTheStreamStopsTheCell() throws InterruptedException {
    run("1");
    CodeStream stream =
        contexts.start(
            ALICE,
            sandbox.id(),
            ExecuteCode.of(Language.PYTHON, "import time\nprint(1)\ntime.sleep(1000)"));
    stream.next();
    stream.close();
    eventually(() -> only().status() == Context.Status.IDLE);
    assertThat(plain(run("1+1"))).isEqualTo("2");
  }

  @Test
  void aFloodForASlowReaderIsHeldBackAndStillTimesOut() throws InterruptedException {
    run("1");
    try (CodeStream stream =
        contexts.start(
            ALICE,
            sandbox.id(),
            new ExecuteCode(
                "while True: print('x' * 100000)",
                Language.PYTHON,
                null,
                Duration.ofMillis(500)))) {
      eventually(() -> only().status() == Context.Status.IDLE);
      CodeEvent last = null;
      for (CodeEvent event = stream.next(); event != null; event = stream.next()) {
        last = event;
      }
      assertThat(last)
          .isInstanceOfSatisfying(
              CodeEvent.Done.class, done -> assertThat(done.result().timedOut()).isTrue());
    }
  }

  @Test
  void hugeResultsAreCutAndDeclared() throws InterruptedException {
    CodeResult result = run("'y' * 100000");
    assertThat(result.truncated()).isTrue();
    assertThat(plain(result).length()).isLessThan(31_000);

    CodeResult flood = run("for i in range(5): display({'text/html': 'z' * 5_000_000}, raw=True)");
    assertThat(flood.success()).isTrue();
    assertThat(flood.truncated()).isTrue();
    assertThat(flood.displayOutputs()).hasSize(3);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void valuesThatWereNotPassedOnCountTowardsTheMemoryOfAll(boolean keyed)
      throws InterruptedException {
    ExecuteCode large =
        ExecuteCode.of(
            Language.PYTHON,
            "class Large:\n  def _repr_html_(self): return 'x' * 15_000_000\nLarge()");
    var open = new ArrayList<CodeStream>();
    boolean truncated = false;
    while (!truncated && open.size() < 20) {
      RequestKey key = keyed ? new RequestKey("large" + open.size(), "large") : null;
      open.add(contexts.start(ALICE, sandbox.id(), large.withKey(key)));
      truncated = open.getLast().result().truncated();
    }
    assertThat(truncated).isTrue();
    assertThat(open).hasSizeGreaterThan(2);

    open.forEach(CodeStream::close);
    assertThat(contexts.execute(ALICE, sandbox.id(), large).truncated()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "b'\\xff' * 1000",
        "b'\\xff\\xff\\xff\\x7f\\x82'",
        "b'\\x05\\x00\\x00\\x00\\x85' + b'A' * 5 + b'\\x09\\x00\\x00\\x00\\x82' + b'B' * 9",
        "b'\\x00\\x00\\x00\\x04\\x82' + b'z' * 70000000",
      })
  void aKernelThatForgesFramesSpoilsOnlyItself(String bytes) throws InterruptedException {
    Context victim = contexts.create(ALICE, sandbox.id(), CreateContext.of(Language.PYTHON));
    in(victim, "x = 1");
    CodeResult forged =
        run(
            FIND_CONTROL + "data = " + bytes + "\nforge(data)\ntime.sleep(30)",
            Duration.ofSeconds(20));

    assertThat(forged.success()).isFalse();
    assertThat(forged.state()).isEqualTo(CodeResult.State.LOST);
    assertThat(forged.timedOut()).isFalse();
    assertThat(plain(in(victim, "x"))).isEqualTo("1");
    assertThat(plain(run("1+1"))).isEqualTo("2");
  }

  @Test
  void anAnswerForAnotherCellIsNotBelieved() throws InterruptedException {
    CodeResult result =
        run(
            FIND_CONTROL
                + "for id in range(1000): forge(struct.pack('<IBIB', 5, 0x85, id, 0))\n6*7");

    assertThat(plain(result)).isEqualTo("42");
  }

  @Test
  void timeoutsOutOfRangeAreRefused() {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> run("1", Duration.ZERO))
        .matches(e -> e.field().orElse("").equals("timeout_seconds"));
  }

  private Thread inBackground(String code, List<ErrorCode> failures) {
    return Thread.ofVirtual()
        .start(
            () -> {
              try {
                run(code);
              } catch (SandboxException e) {
                failures.add(e.code());
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  private Context only() {
    return contexts.list(ALICE, sandbox.id()).getFirst();
  }

  private CodeResult run(String code) throws InterruptedException {
    return run(Language.PYTHON, code);
  }

  private CodeResult run(Language language, String code) throws InterruptedException {
    return contexts.execute(
        ALICE, sandbox.id(), new ExecuteCode(code, language, null, Duration.ofMinutes(1)));
  }

  private CodeResult run(String code, Duration timeout) throws InterruptedException {
    return contexts.execute(
        ALICE, sandbox.id(), new ExecuteCode(code, Language.PYTHON, null, timeout));
  }

  private CodeResult in(Context context, String code) throws InterruptedException {
    return contexts.execute(ALICE, sandbox.id(), new ExecuteCode(code, null, context.id(), null));
  }

  private static String plain(CodeResult result) {
    MimeBundle bundle = result.result();
    return bundle == null
        ? "(none: " + result.error() + ")"
        : bundle.find("text/plain").orElseThrow().text();
  }
}
