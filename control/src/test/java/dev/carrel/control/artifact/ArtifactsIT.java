package dev.carrel.control.artifact;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.audit.AuditQuery;
import dev.carrel.control.audit.SigningKey;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.EventFilter;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class ArtifactsIT {
  private ControlFixture fixture;
  private Sandbox sandbox;

  @BeforeEach
  void open() throws IOException {
    open(Duration.ofMinutes(5));
  }

  private void open(Duration most) throws IOException {
    fixture =
        new ControlFixture(
            settings ->
                settings.withArtifacts(
                    new ArtifactSettings(new DataSize(1000), new DataSize(1500), 4, most)));
    sandbox = fixture.sandbox();
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void whatACommandLeavesInOutputsIsSignedBeforeItsAnswer() throws InterruptedException {
    ExecResult result =
        run("mkdir -p outputs/deep; printf hello > outputs/deep/a.csv; echo x > elsewhere.txt");

    assertThat(result.signed().artifacts()).hasSize(1);
    Artifact artifact = result.signed().artifacts().getFirst();
    assertThat(artifact.path()).isEqualTo("outputs/deep/a.csv");
    assertThat(artifact.sha256()).isEqualTo(sha256("hello"));
    assertThat(artifact.size()).isEqualTo(5);
    assertThat(artifact.mime()).isEqualTo("text/csv");
    assertThat(artifact.exec()).isEqualTo(result.id());
    SigningKey key = fixture.control().audit().key();
    byte[] signature = Base64.getDecoder().decode(artifact.signature());
    assertThat(key.verify(Artifact.statement(sha256("hello"), 5), signature)).isTrue();
    assertThat(key.verify(Artifact.statement(sha256("hellp"), 5), signature)).isFalse();
    assertThat(fixture.control().execs().result(ALICE, sandbox.id(), result.id()).signed())
        .isEqualTo(result.signed());
  }

  @Test
  void anExecHasItsEndThoughTheStoreRefusesWhatItLeft() throws Exception {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + fixture.data().resolve("carrel.db"));
        Statement statement = connection.createStatement()) {
      statement.execute("PRAGMA busy_timeout = 10000");
      statement.execute(
          "CREATE TRIGGER broken BEFORE INSERT ON artifact"
              + " BEGIN SELECT RAISE(ABORT, 'broken'); END");
    }

    ExecResult result = run("mkdir -p outputs; printf hello > outputs/a; exit 3");

    assertThat(result.exitCode()).isEqualTo(3);
    assertThat(result.signed())
        .isEqualTo(
            new Signed(List.of(), List.of(new Signed.Skipped("", "the server failed")), true));
    assertThat(fixture.restart().execs().get(ALICE, sandbox.id(), result.id()).running()).isFalse();
  }

  @Test
  void itIsOnRecordAndTold() throws InterruptedException {
    run("mkdir -p outputs; printf hello > outputs/a");

    assertThat(
            fixture
                .control()
                .audit()
                .page(
                    ALICE,
                    new AuditQuery(null, sandbox.id(), "artifact.sign", null, null, null, 10)))
        .singleElement()
        .satisfies(
            record -> {
              assertThat(record.entry().subject()).isEqualTo("outputs/a");
              assertThat(record.entry().digest()).isEqualTo(sha256("hello"));
            });
    assertThat(
            fixture
                .control()
                .sandboxes()
                .recentEvents(
                    ALICE,
                    new EventFilter("acme", null, sandbox.id(), Set.of(Event.ARTIFACT_SIGNED)),
                    10))
        .singleElement()
        .satisfies(event -> assertThat(event.details()).containsEntry("sha256", sha256("hello")));
  }

  @Test
  void whatWasNamedIsSignedToo() throws InterruptedException {
    ExecResult result =
        fixture
            .control()
            .execs()
            .run(
                ALICE,
                sandbox.id(),
                ExecStart.of(Command.shell("printf a > report.pdf"))
                    .withArtifacts("/workspace/report.pdf", "missing"));

    assertThat(result.signed().artifacts())
        .extracting(Artifact::path, Artifact::mime)
        .containsExactly(tuple("report.pdf", "application/pdf"));
    assertThat(result.signed().skipped())
        .extracting(Signed.Skipped::path)
        .containsExactly("missing");
  }

  @Test
  void onlyTheWorkspaceCanBeNamed() {
    for (String path : List.of("/etc/passwd", "../x", "/workspace", ".")) {
      assertThatExceptionOfType(SandboxException.class)
          .as(path)
          .isThrownBy(() -> fixture.control().artifacts().sign(ALICE, sandbox.id(), List.of(path)))
          .matches(e -> e.code() == ErrorCode.INVALID_INPUT);
    }
  }

  @Test
  void linksPipesAndWhatIsTooMuchAreSkippedAndTold() throws InterruptedException {
    run(
        "mkdir -p inside outputs; echo secret > inside/s; ln -s ../inside/s outputs/link;"
            + " mkfifo outputs/pipe; head -c 1001 /dev/zero > outputs/big;"
            + " printf 1 > outputs/ok; truncate -s 1E outputs/sparse 2>/dev/null || true");

    Signed signed = fixture.control().artifacts().sign(ALICE, sandbox.id(), List.of("outputs/"));

    assertThat(signed.artifacts()).extracting(Artifact::path).doesNotContain("outputs/link");
    assertThat(signed.skipped().size() + signed.artifacts().size()).isLessThanOrEqualTo(4);
    assertThat(signed.truncated()).as("five or six files, and four are looked at").isTrue();
    for (String path : List.of("outputs/link", "outputs/pipe", "outputs/big")) {
      assertThat(fixture.control().artifacts().sign(ALICE, sandbox.id(), List.of(path)))
          .as(path)
          .satisfies(one -> assertThat(one.artifacts()).isEmpty())
          .satisfies(one -> assertThat(one.skipped()).hasSize(1));
    }
    assertThat(
            fixture
                .control()
                .artifacts()
                .sign(ALICE, sandbox.id(), List.of("outputs/ok"))
                .artifacts())
        .hasSize(1);
  }

  @Test
  void allTogetherAreBounded() throws InterruptedException {
    ExecResult result =
        run("mkdir -p outputs; for i in 1 2; do head -c 800 /dev/zero > outputs/$i; done");

    assertThat(result.signed().artifacts()).hasSize(1);
    assertThat(result.signed().skipped()).hasSize(1);
  }

  @Test
  void aSlowSandboxIsReadForSoLongOnly() throws Exception {
    fixture.close();
    open(Duration.ZERO);

    ExecResult result = run("mkdir -p outputs; printf hello > outputs/a");

    assertThat(result.exitCode()).isZero();
    assertThat(result.signed().artifacts()).isEmpty();
    assertThat(result.signed().truncated()).isTrue();
  }

  @Test
  void theDigestIsOfWhatADownloadGives() throws Exception {
    fixture.control().vault().add(ALICE, null, "POEM", "walrus-and-carpenter", false);
    Sandbox own =
        fixture.control().sandboxes().create(ALICE, CreateSandbox.defaults().withSecrets("POEM"));
    ExecResult result =
        fixture
            .control()
            .execs()
            .run(
                ALICE,
                own.id(),
                ExecStart.of(
                    Command.shell(
                        "mkdir -p outputs; echo $POEM > outputs/p; echo 1 > outputs/$POEM")));

    var bytes = new ByteArrayOutputStream();
    try (var download = fixture.control().files().read(ALICE, own.id(), "outputs/p", null)) {
      download.transferTo(bytes);
    }
    assertThat(bytes.toString(StandardCharsets.UTF_8)).doesNotContain("walrus");
    assertThat(result.signed().artifacts())
        .singleElement()
        .satisfies(a -> assertThat(a.sha256()).isEqualTo(sha256(bytes.toByteArray())));
    assertThat(result.signed().toString()).doesNotContain("walrus");
  }

  @Test
  void aFileIsKnownAfterItsSandboxIsGoneToItsOwnerOnly() throws InterruptedException {
    run("mkdir -p outputs; printf hello > outputs/a");
    fixture.control().sandboxes().delete(ALICE, sandbox.id());

    fixture.restart();

    assertThat(fixture.control().artifacts().find(ALICE, sha256("hello"))).hasSize(1);
    assertThat(fixture.control().artifacts().find(MALLORY, sha256("hello"))).isEmpty();
  }

  @Test
  void anotherTenantsArtifactsDoNotExist() throws InterruptedException {
    ExecId exec = run("mkdir -p outputs; printf hello > outputs/a").id();
    Artifacts artifacts = fixture.control().artifacts();

    for (Runnable attempt :
        List.<Runnable>of(
            () -> artifacts.list(MALLORY, sandbox.id(), null, 10),
            () -> artifacts.list(MALLORY, sandbox.id(), exec, 10),
            () -> artifacts.manifest(MALLORY, sandbox.id()),
            () -> artifacts.sign(MALLORY, sandbox.id(), null))) {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(attempt::run)
          .matches(e -> e.code() == ErrorCode.SANDBOX_NOT_FOUND);
    }
  }

  @Test
  void theManifestHasTheLastOfEachFileAndHostileNamesStayNames() throws InterruptedException {
    run("mkdir -p outputs; printf 1 > outputs/a; printf 2 > $'outputs/\"},{\\n\"x'");
    run("printf 3 > outputs/a");

    Manifest manifest = fixture.control().artifacts().manifest(ALICE, sandbox.id());

    byte[] payload = Base64.getDecoder().decode(manifest.payload());
    assertThat(new String(payload, StandardCharsets.UTF_8))
        .contains(sha256("3"), sha256("2"), "\"outputs/\\\"},{\\u000a\\\"x\"")
        .doesNotContain(sha256("1"));
    SigningKey key = fixture.control().audit().key();
    byte[] signature = Base64.getDecoder().decode(manifest.signature());
    assertThat(key.verify(Manifest.encoded(payload), signature)).isTrue();
    payload[payload.length - 3] ^= 1;
    assertThat(key.verify(Manifest.encoded(payload), signature)).isFalse();
  }

  private ExecResult run(String line) throws InterruptedException {
    return fixture
        .control()
        .execs()
        .run(
            ALICE,
            sandbox.id(),
            ExecStart.of(
                new Command(List.of("bash", "-c", line), Map.of(), null, null, null, false)));
  }

  private static String sha256(String text) {
    return sha256(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
