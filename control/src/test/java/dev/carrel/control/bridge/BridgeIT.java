package dev.carrel.control.bridge;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Properties;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Real interpreters, each to each. */
@SuppressWarnings("NullAway") // set before each test
class BridgeIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String VALUE =
      """
      {"text":"a 'q' \\"d\\" \\\\ é 😀\\nline","n":7,"x":0.1,"yes":true,"list":[1,2,3],
       "mixed":["a",1,{"b":[]}],"deep":{"k y":[["p","q"],["r","s"]]}}
      """;

  private ControlFixture fixture;
  private Bridge bridge;
  private SandboxId sandbox;

  @BeforeEach
  void start() throws IOException {
    fixture = new ControlFixture();
    bridge = fixture.control().bridge();
    sandbox = fixture.sandbox().id();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void aValueGoesThroughEveryLanguageAndComesBackTheSame() throws Exception {
    JsonNode value = JSON.readTree(VALUE);
    bridge.set(ALICE, in(Language.PYTHON, "a"), Form.JSON, value);
    bridge.copy(ALICE, in(Language.PYTHON, "a"), in(Language.NODE, "b"), Form.JSON);
    bridge.copy(ALICE, in(Language.NODE, "b"), in(Language.R, "c"), Form.JSON);
    bridge.copy(ALICE, in(Language.R, "c"), in(Language.BASH, "d"), Form.JSON);
    bridge.copy(ALICE, in(Language.BASH, "d"), in(Language.PYTHON, "e"), Form.JSON);
    assertThat(run(Language.PYTHON, "a == e or (a, e)")).isEqualTo("True");
    assertThat(run(Language.NODE, "b.list[2] + b.n")).isEqualTo("10");
    assertThat(run(Language.R, "sum(c$list) + c$n")).contains("13");
    assertThat(JSON.readTree(bridge.get(ALICE, in(Language.R, "c"), Form.JSON).value().toString()))
        .isEqualTo(value);
  }

  /** Its guest takes what is to be written only after half a minute. */
  @Test
  void aSandboxThatStandsStillKeepsNoOtherFromItsTurn() throws Exception {
    JsonNode value = JSON.readTree("[1]");
    var here = in(Language.PYTHON, "a");
    bridge.set(ALICE, here, Form.JSON, value);
    SandboxId still = fixture.sandbox().id();
    var there = new Variable(still, Language.PYTHON, null, "a");
    signalGuest(still, "STOP");
    try {
      var stuck = new ArrayList<Thread>();
      for (int i = 0; i < 3; i++) {
        stuck.add(Thread.ofVirtual().start(() -> attempt(there, value)));
      }
      eventually(() -> stuck.stream().allMatch(one -> one.getState() == Thread.State.WAITING));

      bridge.set(ALICE, here, Form.JSON, value);

      assertThat(stuck).allMatch(Thread::isAlive);
      stuck.forEach(Thread::interrupt);
    } finally {
      signalGuest(still, "CONT");
    }
  }

  private void attempt(Variable to, JsonNode value) {
    try {
      bridge.set(ALICE, to, Form.JSON, value);
    } catch (SandboxException | IOException e) {
      // It does not answer, or was called off.
      return;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void signalGuest(SandboxId id, String signal) throws IOException, InterruptedException {
    var state = new Properties();
    Path folder = fixture.run().resolve(id.value());
    try (var text = Files.newInputStream(folder.resolve("process.properties"))) {
      state.load(text);
    }
    String pid = String.valueOf(state.getProperty("pid"));
    assertThat(new ProcessBuilder("kill", "-" + signal, pid).start().waitFor()).isZero();
  }

  @Test
  void textInBashIsText() throws Exception {
    bridge.set(ALICE, in(Language.BASH, "s"), Form.JSON, JSON.readTree("\"$(id) `x` 'q'\\n\""));
    assertThat(run(Language.BASH, "printf '[%s]' \"$s\"")).isEqualTo("[$(id) `x` 'q'\n]");
    assertThat(bridge.get(ALICE, in(Language.BASH, "s"), Form.JSON).value().textValue())
        .isEqualTo("$(id) `x` 'q'\n");
  }

  @Test
  void noTextBecomesCode() throws Exception {
    JsonNode evil =
        JSON.readTree("{\"k\\\"=system('id'),x=\\\"\":\"\\\");stop('no');(\\\"#{}$`\"}");
    for (Language language : new Language[] {Language.PYTHON, Language.NODE, Language.R}) {
      // Also names that the carrying code itself uses.
      for (String name : new String[] {"v", "text", "json", "value"}) {
        bridge.set(ALICE, in(language, name), Form.JSON, evil);
        assertThat(bridge.get(ALICE, in(language, name), Form.JSON).value()).isEqualTo(evil);
      }
    }
    for (String name : new String[] {"a;b", "a b", "", "_x", "a\nb", "é", "a".repeat(65)}) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> in(Language.PYTHON, name))
          .matches(e -> e.code() == ErrorCode.INVALID_INPUT);
    }
  }

  @Test
  void aTableKeepsTheTypesOfItsColumns() throws Exception {
    run(
        Language.R,
        "df <- data.frame(n = c(1L, NA), x = c(0.5, 2), ok = c(TRUE, NA), s = c('a \"b\"', NA),"
            + " t = as.POSIXct(c('2026-01-02 03:04:05', NA), tz = 'UTC'), f = factor(c('u', 'v')))");
    bridge.copy(ALICE, in(Language.R, "df"), in(Language.NODE, "rows"), Form.TABLE);
    assertThat(
            run(
                Language.NODE,
                "[rows[0].n, rows[1].n, rows[0].ok, rows[0].s, rows[0].t instanceof Date,"
                    + " rows[0].t.toISOString(), rows[1].f, rows.length].join('|')"))
        .isEqualTo("1||true|a \"b\"|true|2026-01-02T03:04:05.000Z|v|2");
    bridge.copy(ALICE, in(Language.NODE, "rows"), in(Language.R, "back"), Form.TABLE);
    assertThat(
            run(
                Language.R,
                "df$f <- as.character(df$f); if (isTRUE(all.equal(df, back))) 'same' else"
                    + " all.equal(df, back)"))
        .contains("same");
  }

  @Test
  void whatCannotBeCarriedSaysWhy() throws Exception {
    fails(ErrorCode.INVALID_INPUT, Language.PYTHON, "missing", "NameError");
    run(Language.PYTHON, "f = open");
    fails(ErrorCode.INVALID_INPUT, Language.PYTHON, "f", "cannot be carried as JSON");
    fails(ErrorCode.INVALID_INPUT, Language.BASH, "missing", "is not set");
    run(Language.PYTHON, "big = 'x' * (17 << 20)");
    fails(ErrorCode.TOO_LARGE, Language.PYTHON, "big", "16777216");
  }

  @Test
  void anotherNamespaceIsOutOfReach() throws Exception {
    SandboxId apart =
        fixture
            .control()
            .sandboxes()
            .create(ALICE, CreateSandbox.defaults().withNamespace("apart"))
            .id();
    run(Language.PYTHON, "x = 1");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                bridge.copy(
                    ALICE,
                    in(Language.PYTHON, "x"),
                    new Variable(apart, Language.PYTHON, null, "x"),
                    Form.JSON))
        .matches(e -> e.code() == ErrorCode.FORBIDDEN);
  }

  private void fails(ErrorCode code, Language language, String name, String words) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> bridge.get(ALICE, in(language, name), Form.JSON))
        .matches(e -> e.code() == code, code.name())
        .withMessageContaining(words);
  }

  private Variable in(Language language, String name) {
    return new Variable(sandbox, language, null, name);
  }

  /** What a cell is worth, or has printed. */
  private String run(Language language, String code) throws InterruptedException {
    CodeResult result =
        fixture.control().contexts().execute(ALICE, sandbox, ExecuteCode.of(language, code));
    assertThat(result.success()).as(String.valueOf(result.error())).isTrue();
    return result.result() == null
        ? result.stdout().text()
        : result.result().find("text/plain").orElseThrow().text();
  }
}
