package dev.carrel.control.idempotency;

import static dev.carrel.control.ControlFixture.ALICE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.context.CodeEvent;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.CodeStream;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
final class IdempotencyIT {
  private static final String ONCE = "echo ran >> runs; wc -l < runs";
  private static final ExecuteCode COUNT =
      ExecuteCode.of(Language.PYTHON, "n = globals().get('n', 0) + 1\nprint(n)\nn");
  private static final ExecuteCode WAIT =
      ExecuteCode.of(
              Language.PYTHON,
              "import os, time\nprint('in')\n"
                  + "while not os.path.exists('go'): time.sleep(0.01)\nprint('out')")
          .withKey(new RequestKey("cell", "wait"));

  private ControlFixture fixture;
  private SandboxId sandbox;

  @BeforeEach
  void open() throws IOException {
    fixture =
        new ControlFixture(
            settings ->
                settings.withKeys(
                    new KeySettings(4, Duration.ofHours(1), DataSize.ofMebibytes(64))));
    sandbox = fixture.sandbox().id();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void theSameKeyIsTheSameCommand() throws Exception {
    ExecResult first = run(keyed("a", ONCE));
    ExecResult second = run(keyed("a", ONCE));
    assertThat(second.id()).isEqualTo(first.id());
    assertThat(second.stdout().text()).isEqualTo("1\n");
    assertThat(run(keyed("b", ONCE)).stdout().text()).isEqualTo("2\n");
  }

  @Test
  void ofManyEqualRequestsAtOnceExactlyOneRuns() throws Exception {
    ExecStart request = keyed("crowd", "sleep 0.2; " + ONCE);
    Set<String> ids = new HashSet<>();
    for (ExecResult result : atOnce(40, () -> run(request))) {
      ids.add(result.id().value());
      assertThat(result.stdout().text()).isEqualTo("1\n");
    }
    assertThat(ids).hasSize(1);
  }

  @Test
  void anotherRequestWithTheSameKeyIsRefusedAndNamed() throws Exception {
    run(keyed("a", ONCE));
    refused(ErrorCode.KEY_REUSED, () -> run(keyed("a", "echo other")));
    // A cell is another request too, whatever it says.
    refused(ErrorCode.KEY_REUSED, () -> code(COUNT.withKey(new RequestKey("a", ONCE))));
  }

  @Test
  void whoLeavesInTheMomentOfItsStartBreaksNothing() throws Exception {
    ExecStart request = keyed("left", ONCE);
    Thread.currentThread().interrupt();
    ExecId first;
    try (ExecStream stream = start(request)) {
      first = stream.id();
      assertThat(Thread.interrupted()).as("whoever waits for it is still told").isTrue();
    }
    ExecResult second = run(request);
    assertThat(second.id()).isEqualTo(first);
    assertThat(second.stdout().text()).isEqualTo("1\n");
  }

  @Test
  void aBrokenStreamLosesNothing() throws Exception {
    ExecStart request = keyed("long", "echo one; until test -e go; do sleep 0.02; done; echo two");
    long offset;
    try (ExecStream stream = start(request)) {
      assertThat(stream.isReplay()).isFalse();
      assertThat(text(stream)).isEqualTo("one\n");
      offset = stream.offset();
    }
    run(ExecStart.of(Command.shell("touch go")));
    try (ExecStream again = start(request.withKey(Objects.requireNonNull(request.key()), offset))) {
      assertThat(again.isReplay()).isTrue();
      assertThat(text(again)).isEqualTo("two\n");
      assertThat(again.result().stdout().text()).isEqualTo("one\ntwo\n");
    }
  }

  @Test
  void theNextServerKnowsTheKey() throws Exception {
    ExecResult ended = run(keyed("ended", ONCE));
    ExecStart running = keyed("running", ONCE + "; until test -e go; do sleep 0.02; done; echo on");
    try (ExecStream stream = start(running)) {
      assertThat(text(stream)).isEqualTo("2\n");
      fixture.restart();
    }
    ExecResult again = run(keyed("ended", ONCE));
    assertThat(again.id()).isEqualTo(ended.id());
    assertThat(again.stdout().text()).isEqualTo("1\n");
    run(ExecStart.of(Command.shell("touch go")));
    assertThat(run(running).stdout().text()).isEqualTo("2\non\n");
  }

  @Test
  void whatCouldNotBeginLeavesTheKeyFree() throws Exception {
    ExecStart tooLong =
        ExecStart.of(Command.shell(ONCE).withTimeout(Duration.ofDays(2)))
            .withKey(new RequestKey("a", "too long"), 0);
    refused(ErrorCode.INVALID_INPUT, () -> run(tooLong));
    assertThat(run(keyed("a", ONCE)).stdout().text()).isEqualTo("1\n");
  }

  @Test
  void aKeyOutlivesOtherCommandsButNotMoreKeysThanAreKept() throws Exception {
    ExecResult first = run(keyed("first", ONCE));
    for (int i = 0; i < 70; i++) {
      run(ExecStart.of(Command.of("true")));
    }
    assertThat(run(keyed("first", ONCE)).id()).isEqualTo(first.id());
    for (int i = 0; i < 4; i++) {
      run(keyed("later-" + i, "true"));
    }
    assertThat(run(keyed("first", ONCE)).stdout().text()).isEqualTo("2\n");
  }

  @Test
  void aCommandThatStillRunsIsNeverForgotten() throws Exception {
    ExecStart running = keyed("running", "echo in; sleep 1000");
    try (ExecStream stream = start(running)) {
      text(stream);
      for (int i = 0; i < 6; i++) {
        run(keyed("later-" + i, "true"));
      }
      try (ExecStream again = start(running)) {
        assertThat(again.id()).isEqualTo(stream.id());
      }
    }
  }

  @Test
  void theAgeOfACommandsKeyIsCountedFromItsEnd() throws Exception {
    ExecStart running = keyed("running", ONCE + "; until test -e go; do sleep 0.02; done");
    ExecStart ended = keyed("ended", ONCE);
    ExecId first;
    try (ExecStream stream = start(running)) {
      assertThat(text(stream)).isEqualTo("1\n");
      first = stream.id();
    }
    ExecResult before = run(ended);
    sql("UPDATE request_key SET created_at = created_at - 86400000");

    // Another one, so that what is too old is forgotten.
    run(keyed("later", "true"));
    try (ExecStream again = start(running)) {
      assertThat(again.id()).isEqualTo(first);
    }
    run(ExecStart.of(Command.shell("touch go")));
    assertThat(run(running).id()).isEqualTo(first);
    assertThat(run(ended).id()).isEqualTo(before.id());

    fixture.restart(); // so that all is written
    sql("UPDATE exec SET ended_at = ended_at - 86400000");
    assertThat(run(ended).stdout().text()).isEqualTo("3\n");
  }

  private void sql(String statement) throws SQLException {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + fixture.data().resolve("carrel.db"));
        Statement run = connection.createStatement()) {
      run.execute("PRAGMA busy_timeout = 10000");
      run.execute(statement);
    }
  }

  @Test
  void keysOfSandboxesDoNotMeet() throws Exception {
    SandboxId other = fixture.sandbox().id();
    ExecResult here = run(keyed("a", ONCE));
    ExecResult there = fixture.control().execs().run(ALICE, other, keyed("a", ONCE));
    assertThat(there.id()).isNotEqualTo(here.id());
  }

  @Test
  void theSameKeyIsTheSameCell() throws Exception {
    ExecuteCode request = COUNT.withKey(new RequestKey("cell", "n"));
    for (CodeResult result : atOnce(20, () -> code(request))) {
      assertThat(result.stdout().text()).isEqualTo("1\n");
      assertThat(result.executionCount()).isEqualTo(1);
    }
    assertThat(code(COUNT).stdout().text()).isEqualTo("2\n");
  }

  @Test
  void aCellWithAKeyGoesOnWithoutItsCaller() throws Exception {
    try (CodeStream stream = fixture.control().contexts().start(ALICE, sandbox, WAIT)) {
      assertThat(stream.next()).isInstanceOf(CodeEvent.Begun.class);
      assertThat(stream.next()).isInstanceOf(CodeEvent.Output.class);
      assertThat(stream.number()).isEqualTo(2);
    }
    // More keys than are kept: that of what still runs is none of those that go.
    for (int i = 0; i < 6; i++) {
      run(keyed("later-" + i, "true"));
    }
    run(ExecStart.of(Command.shell("touch go")));
    try (CodeStream again = fixture.control().contexts().start(ALICE, sandbox, WAIT)) {
      assertThat(again.isReplay()).isTrue();
      CodeResult result = again.result();
      assertThat(result.success()).isTrue();
      assertThat(result.stdout().text()).isEqualTo("in\nout\n");
    }
  }

  @Test
  void theAgeOfACellsKeyIsCountedFromItsEnd() throws Exception {
    try (CodeStream stream = fixture.control().contexts().start(ALICE, sandbox, WAIT)) {
      assertThat(stream.next()).isInstanceOf(CodeEvent.Begun.class);
      assertThat(stream.next()).isInstanceOf(CodeEvent.Output.class);
    }
    sql("UPDATE request_key SET created_at = created_at - 86400000");

    assertReplayed(WAIT);
    // Another one, so that what is too old is forgotten.
    run(keyed("later", "true"));
    assertReplayed(WAIT);
    run(ExecStart.of(Command.shell("touch go")));
    assertThat(code(WAIT).executionCount()).isEqualTo(1);
    run(keyed("after", "true"));
    assertReplayed(WAIT);
    assertThat(code(COUNT).executionCount()).isEqualTo(2);
  }

  private void assertReplayed(ExecuteCode request) throws InterruptedException {
    try (CodeStream again = fixture.control().contexts().start(ALICE, sandbox, request)) {
      assertThat(again.isReplay()).isTrue();
    }
  }

  @Test
  void aCellOfAnEarlierServerIsKnownButItsResultIsNot() throws Exception {
    ExecuteCode request = COUNT.withKey(new RequestKey("cell", "n"));
    code(request);
    fixture.restart();
    refused(ErrorCode.RESULT_GONE, () -> code(request));
    assertThat(code(COUNT).stdout().text()).isEqualTo("2\n");
  }

  @Test
  void aCellThatCouldNotBeginLeavesTheKeyFree() throws Exception {
    var wrong =
        new ExecuteCode(
            "1",
            Language.BASH,
            code(COUNT).context(),
            null,
            new RequestKey("cell", "wrong language"));
    refused(ErrorCode.INVALID_INPUT, () -> code(wrong));
    assertThat(code(COUNT.withKey(new RequestKey("cell", "n"))).stdout().text()).isEqualTo("2\n");
  }

  private ExecStart keyed(String key, String line) {
    return ExecStart.of(Command.shell(line)).withKey(new RequestKey(key, line), 0);
  }

  private ExecResult run(ExecStart request) throws InterruptedException {
    return fixture.control().execs().run(ALICE, sandbox, request);
  }

  private ExecStream start(ExecStart request) throws InterruptedException {
    return fixture.control().execs().start(ALICE, sandbox, request);
  }

  private CodeResult code(ExecuteCode request) throws InterruptedException {
    return fixture.control().contexts().execute(ALICE, sandbox, request);
  }

  /** The next piece of output. */
  private static String text(ExecStream stream) throws InterruptedException {
    for (ExecEvent event = stream.next(); event != null; event = stream.next()) {
      if (event instanceof ExecEvent.Output output) {
        return StandardCharsets.UTF_8.decode(output.bytes().duplicate()).toString();
      }
    }
    return "";
  }

  private static <T> List<T> atOnce(int count, Callable<T> call)
      throws InterruptedException, ExecutionException {
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var values = new ArrayList<T>();
      for (var result : pool.invokeAll(Collections.nCopies(count, call))) {
        values.add(result.get());
      }
      return values;
    }
  }

  private static void refused(ErrorCode code, Callable<?> call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call::call)
        .matches(e -> e.code() == code, code.name());
  }
}
