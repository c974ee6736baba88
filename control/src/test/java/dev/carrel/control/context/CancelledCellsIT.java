package dev.carrel.control.context;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.files.WriteFile;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who leaves in the middle takes nothing along, and leaves nothing behind. */
final class CancelledCellsIT {
  private static final int TRIES = 12;

  private final String mark = UUID.randomUUID().toString();
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

  @Test
  void anInterruptWhileTheCodeIsOnItsWayKeepsTheState() throws InterruptedException {
    run("x = 42");
    String large = "#" + "a".repeat(900_000);
    for (int i = 0; i < TRIES; i++) {
      Thread asking = Thread.ofVirtual().start(() -> attempt(() -> run(large)));
      eventually(() -> only().status() == Context.Status.BUSY || !asking.isAlive());
      asking.interrupt();
      asking.join();
    }

    assertThat(run("print(x)").stdout().text()).isEqualTo("42\n");
  }

  @Test
  void leavingAfterTheEndOfACellStopsNoOther() throws InterruptedException {
    CodeStream first =
        contexts.start(ALICE, sandbox.id(), ExecuteCode.of(Language.PYTHON, "print('over')"));
    eventually(() -> only().status() == Context.Status.IDLE && only().executionCount() == 1);
    var seen = new CountDownLatch(1);
    try (CodeStream second =
        contexts.start(
            ALICE,
            sandbox.id(),
            ExecuteCode.of(
                Language.PYTHON,
                "import os\nprint('begun')\nwhile not os.path.exists('go'): pass\nprint('whole')"))) {
      for (CodeEvent event = second.next(); event != null; event = second.next()) {
        if (event instanceof CodeEvent.Output && seen.getCount() == 1) {
          seen.countDown();
          first.close();
          // Long enough for an interrupt to come through: the shell starts an interpreter first.
          run(Language.BASH, "touch go");
        }
        if (event instanceof CodeEvent.Done(CodeResult result)) {
          assertThat(result.error()).isNull();
          assertThat(result.stdout().text()).isEqualTo("begun\nwhole\n");
        }
      }
    }
    assertThat(seen.getCount()).isZero();
  }

  @Test
  void anInterpreterThatNobodyWaitsForAnyMoreIsEnded() throws Exception {
    holdInterpreters();
    Thread asking = Thread.ofVirtual().start(() -> attempt(this::create));
    eventually(() -> !marked().isEmpty());
    asking.interrupt();
    asking.join();

    eventually(() -> marked().isEmpty());
    assertThat(contexts.list(ALICE, sandbox.id())).isEmpty();
  }

  @Test
  void anInterpreterWhoseContextIsDeletedWhileItStartsIsEnded() throws Exception {
    holdInterpreters();
    var failure = new AtomicReference<Throwable>();
    Thread asking =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    create();
                  } catch (SandboxException | InterruptedException e) {
                    failure.set(e);
                  }
                });
    eventually(() -> !contexts.list(ALICE, sandbox.id()).isEmpty());
    contexts.delete(ALICE, sandbox.id(), only().id());
    letGo();
    asking.join();

    assertThat(failure.get())
        .isInstanceOfSatisfying(
            SandboxException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.CONTEXT_NOT_FOUND));
    eventually(() -> marked().isEmpty());
  }

  /** From now on those of Node are not ready before they are let go. */
  private void holdInterpreters() throws IOException {
    write(
        "wait.cjs",
        """
        const pause = new Int32Array(new SharedArrayBuffer(4));
        while (!require('fs').existsSync(__dirname + '/go')) Atomics.wait(pause, 0, 0, 20);
        """);
  }

  private void letGo() throws IOException {
    write("go", "");
  }

  private void write(String path, String text) throws IOException {
    var bytes = new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    fixture.control().files().write(ALICE, sandbox.id(), path, bytes, WriteFile.plain());
  }

  /** What can be told from others on the same host. */
  private List<Path> marked() {
    try (Stream<Path> all = Files.list(Path.of("/proc"))) {
      return all.filter(path -> path.getFileName().toString().matches("\\d+"))
          .filter(this::isMarked)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private boolean isMarked(Path process) {
    try {
      byte[] bytes = Files.readAllBytes(process.resolve("environ"));
      return new String(bytes, StandardCharsets.ISO_8859_1).contains(mark);
    } catch (IOException e) {
      return false; // it has ended, or is another user's
    }
  }

  private Context create() throws InterruptedException {
    return contexts.create(
        ALICE,
        sandbox.id(),
        new CreateContext(
            Language.NODE,
            null,
            Map.of("MARK", mark, "NODE_OPTIONS", "--require ./wait.cjs"),
            null,
            List.of()));
  }

  private Context only() {
    return contexts.list(ALICE, sandbox.id()).getFirst();
  }

  private CodeResult run(String code) throws InterruptedException {
    return run(Language.PYTHON, code);
  }

  private CodeResult run(Language language, String code) throws InterruptedException {
    return contexts.execute(ALICE, sandbox.id(), ExecuteCode.of(language, code));
  }

  private static void attempt(Attempt attempt) {
    try {
      attempt.run();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // as it was asked to be
    }
  }

  private interface Attempt {
    void run() throws InterruptedException;
  }
}
