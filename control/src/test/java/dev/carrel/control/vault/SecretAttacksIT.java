package dev.carrel.control.vault;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.context.Context;
import dev.carrel.control.context.CreateContext;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.redact.Redaction;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.PoolSettings;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Command;
import dev.carrel.spi.Language;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Cases C and N10 from inside a native sandbox: who gets a value, and in what form it gets out. */
final class SecretAttacksIT {
  private static final String VALUE = "wJalrXUtnFEMI/K7MDENG+bPxRfiCY";

  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture = new ControlFixture("native", settings -> settings);
    fixture.control().vault().add(ALICE, null, "KEY", VALUE, false);
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void c03OnlyItsOwnProcessEverHoldsAValue() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "test -n \"$KEY\"", "KEY");

    String everywhere =
        "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c 'KEY[=]\\|wJal[r]';"
            + " env | grep -c KEY; ls /proc | grep -c '^[0-9]'";
    assertThat(run(sandbox, everywhere)).startsWith("0\n0\n").doesNotEndWith("0\n0\n0\n");
    assertThat(
            fixture.control().execs().list(ALICE, sandbox.id()).toString()
                + fixture.control().sandboxes().get(ALICE, sandbox.id()))
        .doesNotContain("wJalr");
    // What another sandbox of the same tenant was not given is not there either.
    assertThat(run(fixture.sandbox(), "echo \"[$KEY]\"")).isEqualTo("[]\n");
    assertThat(fixture.control().vault().list(MALLORY, null)).isEmpty();
  }

  @Test
  void n10NoUsualEncodingLeaves() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    for (String line :
        List.of(
            "echo $KEY",
            "echo $KEY | base64",
            "echo token=$KEY | base64 -w0",
            "printf %s $KEY | base64 | tr '/+' '_-'",
            "printf %s $KEY | od -An -tx1 | tr -d ' \\n'",
            "printf %s $KEY | od -An -tx1 | tr -d ' \\n' | tr a-f A-F",
            "python3 -c 'import os, urllib.parse as u; print(u.quote(os.environ[\"KEY\"], safe=\"\"))'",
            "python3 -c 'import os, json; print(json.dumps(os.environ))'",
            "for i in $(seq ${#KEY}); do printf %s \"${KEY:i-1:1}\"; done",
            "printf %s ${KEY:0:7}; sleep 0.2; printf %s ${KEY:7}",
            "printf %s $KEY >&2",
            "cat /proc/self/environ",
            "mkdir -p d && : > d/$(printf %s $KEY | base64 -w0 | tr '/+' '_-') && ls d",
            "ls /$KEY",
            "exec /nonexistent/$KEY")) {
      String out = run(sandbox, line, "KEY");
      assertThat(out)
          .as(line)
          .doesNotContain("wJalr", "UtnFEMI", "d0phbHJYVXRuRkVNS", "774a616c7258", "774A616C7258")
          .doesNotContain("MDENG%2B");
    }
  }

  @Test
  void n10TheEndOfAStreamIsNoWayOut() throws Exception {
    // Without its padding, this is the beginning of what it is with it.
    fixture.control().vault().add(ALICE, null, "SHORT", "hunter22", false);
    Sandbox sandbox = fixture.sandbox();
    assertThat(run(sandbox, "printf %s $SHORT | base64 | tr -d '=\\n'", "SHORT"))
        .isEqualTo(Redaction.MASK);
    run(sandbox, "printf %s $SHORT | base64 | tr -d '=\\n' > kept; sync", "SHORT");
    assertThat(run(sandbox, "cat kept")).isEqualTo(Redaction.MASK);
  }

  @Test
  void n10WhatIsNotFoundIsKnown() throws Exception {
    Sandbox sandbox = fixture.sandbox();

    // The documents name these: redaction is no wall against who was given the value.
    assertThat(run(sandbox, "echo $KEY | rev", "KEY"))
        .isEqualTo(new StringBuilder(VALUE).reverse() + "\n");
    assertThat(run(sandbox, "echo $KEY | fold -w1 | tr '\\n' ' '", "KEY")).startsWith("w J a l r");
  }

  @Test
  void aForkOfAWarmInterpreterHasItsSecrets() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    eventually(() -> warmed(sandbox));
    Context forked = context(sandbox);
    assertThat(forked.start()).isEqualTo(Context.Start.ZYGOTE);

    var cell =
        fixture
            .control()
            .contexts()
            .execute(
                ALICE,
                sandbox.id(),
                new ExecuteCode(
                    "import os; print(len(os.environ['KEY']), os.environ['KEY'])",
                    null,
                    forked.id(),
                    null));
    assertThat(cell.stdout().text()).isEqualTo(VALUE.length() + " " + Redaction.MASK + "\n");
  }

  @Test
  void aForkOfTheFilesKeepsThemIn() throws Exception {
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo $KEY > kept; sync", "KEY");

    Sandbox fork = fixture.control().sandboxes().snapshots().fork(ALICE, sandbox.id());
    assertThat(run(fork, "cat kept")).isEqualTo(Redaction.MASK + "\n");
    var snapshot = fixture.control().sandboxes().snapshots().create(ALICE, sandbox.id(), null);
    fixture.control().sandboxes().delete(ALICE, sandbox.id());
    Sandbox begun =
        fixture
            .control()
            .sandboxes()
            .create(
                ALICE,
                CreateSandbox.defaults()
                    .withStorage(new CreateSandbox.Storage(null, null, snapshot.id())));
    assertThat(run(begun, "cat kept")).isEqualTo(Redaction.MASK + "\n");
    fixture.control().sandboxes().snapshots().delete(ALICE, snapshot.id());
  }

  @Test
  void aWarmBoxIsGivenThemWhenItIsClaimed() throws Exception {
    fixture.close();
    fixture =
        new ControlFixture(
            "native",
            settings ->
                settings.withPools(
                    PoolSettings.defaults()
                        .withPools(
                            List.of(
                                new PoolSettings.Pool(
                                    "host", null, 1, 2, Set.of(Language.PYTHON))))));
    fixture.control().vault().add(ALICE, null, "KEY", VALUE, false);
    eventually(() -> fixture.control().sandboxes().pools().status().getFirst().idle() > 0);

    Sandbox sandbox =
        fixture.control().sandboxes().create(ALICE, CreateSandbox.defaults().withSecrets("KEY"));
    var cell =
        fixture
            .control()
            .contexts()
            .execute(
                ALICE,
                sandbox.id(),
                ExecuteCode.of(Language.PYTHON, "import os; print(len(os.environ['KEY']))"));
    assertThat(cell.stdout().text()).isEqualTo(VALUE.length() + "\n");
    assertThat(fixture.control().telemetry().snapshot()).containsKey("kernels_warm");
    assertThat(run(sandbox, "echo ${#KEY} $KEY"))
        .isEqualTo(VALUE.length() + " " + Redaction.MASK + "\n");
  }

  /** The first uses find no warm one, and set one going. */
  private boolean warmed(Sandbox sandbox) {
    try {
      Context context = context(sandbox);
      fixture.control().contexts().delete(ALICE, sandbox.id(), context.id());
      return context.start() == Context.Start.ZYGOTE;
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private Context context(Sandbox sandbox) throws InterruptedException {
    return fixture
        .control()
        .contexts()
        .create(ALICE, sandbox.id(), CreateContext.of(Language.PYTHON).withSecrets("KEY"));
  }

  private String run(Sandbox sandbox, String line, String... secrets) throws InterruptedException {
    var result =
        fixture
            .control()
            .execs()
            .run(
                ALICE,
                sandbox.id(),
                ExecStart.of(Command.of("bash", "-c", line)).withSecrets(secrets));
    return result.stdout().text() + result.stderr().text();
  }
}
