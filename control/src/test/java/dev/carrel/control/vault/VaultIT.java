package dev.carrel.control.vault;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.MALLORY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.Control;
import dev.carrel.control.ControlFixture;
import dev.carrel.control.audit.AuditQuery;
import dev.carrel.control.context.CreateContext;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.context.MimeBundle;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.files.ArchiveFormat;
import dev.carrel.control.files.ByteRange;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.Grep;
import dev.carrel.control.redact.Redaction;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class VaultIT {
  private static final String VALUE = "s3cr3t-v4lue/+\"1\"";
  private static final Caller OPERATOR = new Caller("default", "admin", Caller.Role.ADMIN);

  private ControlFixture fixture;

  @BeforeEach
  void open() throws IOException {
    fixture =
        new ControlFixture(
            settings ->
                settings.withVault(
                    new VaultSettings(
                        null,
                        Map.of(
                            "CARREL_SECRET_LAB_TOKEN", "from-the-server",
                            "SANDBOXMCP_SECRET_LAB_OTHER", "also-from-there",
                            "CARREL_SECRET_LAB_SHORT", "tiny"))));
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
  }

  @Test
  void secretsAreListedByNameAndBelongToOneTenantAndNamespace() {
    Secret made = vault().add(ALICE, null, "API_KEY", VALUE, false);
    vault().add(ALICE, "lab", "API_KEY", "another-value", true);

    assertThat(made.version()).isEqualTo(1);
    assertThat(vault().list(ALICE, null)).containsExactly(made);
    assertThat(vault().list(ALICE, "lab")).singleElement().matches(Secret::canary);
    assertThat(vault().list(MALLORY, null)).isEmpty();
    refused(ErrorCode.SECRET_NOT_FOUND, () -> vault().delete(MALLORY, null, "API_KEY"));
    refused(ErrorCode.SECRET_NOT_FOUND, () -> vault().rotate(MALLORY, null, "API_KEY", VALUE));
    refused(ErrorCode.WRONG_STATE, () -> vault().add(ALICE, null, "API_KEY", VALUE, false));
    assertThat(vault().rotate(ALICE, null, "API_KEY", "fresh-value").version()).isEqualTo(2);
    vault().delete(ALICE, null, "API_KEY");
    assertThat(vault().list(ALICE, null)).isEmpty();
    refused(ErrorCode.SECRET_NOT_FOUND, () -> vault().delete(ALICE, null, "API_KEY"));
  }

  @Test
  void whatCannotBeKeptOutOfTextIsRefused() {
    refused(ErrorCode.INVALID_INPUT, () -> vault().add(ALICE, null, "A", "12345", false));
    refused(ErrorCode.INVALID_INPUT, () -> vault().add(ALICE, null, "A", "x".repeat(8193), false));
    refused(ErrorCode.INVALID_INPUT, () -> vault().add(ALICE, null, "A", "123456\0", false));
    refused(ErrorCode.INVALID_INPUT, () -> vault().add(ALICE, null, "1A", VALUE, false));
    refused(ErrorCode.INVALID_INPUT, () -> vault().add(ALICE, null, "A=B", VALUE, false));
    refused(ErrorCode.INVALID_INPUT, () -> vault().add(ALICE, "../x", "A", VALUE, false));
  }

  @Test
  void aSecretIsBoundToHostsThatCanShowWhoTheyAre() {
    List<String> hosts = List.of("API.Example.com", "*.example.org:8443", "api.example.com");
    Secret made = vault().add(ALICE, null, "BOUND", "printable", false, hosts);

    assertThat(made.hosts()).containsExactly("api.example.com", "*.example.org:8443");
    assertThat(vault().rotate(ALICE, null, "BOUND", "other printable").hosts())
        .isEqualTo(made.hosts());
    // A value that could end a field, and begin another.
    refused(ErrorCode.INVALID_INPUT, () -> vault().rotate(ALICE, null, "BOUND", "one\r\nX: two"));
    for (String value : List.of("umlaut-\u00fc", " blank-before", "blank-behind ", "tab\there-")) {
      refused(ErrorCode.INVALID_INPUT, () -> bound(value, false, "api.example"));
    }
    for (String host :
        List.of("10.0.0.1", "[::1]", "*", "a*.example", "x@y.example", "a.example/")) {
      refused(ErrorCode.INVALID_INPUT, () -> bound("printable", false, host));
    }
    refused(ErrorCode.INVALID_INPUT, () -> bound("printable", true, "api.example"));
    assertThat(vault().list(ALICE, null)).hasSize(1);
  }

  private void bound(String value, boolean canary, String host) {
    vault().add(ALICE, null, "OTHER", value, canary, List.of(host));
  }

  @Test
  void aProcessHasAPlaceholderOfWhatIsBoundToAHost() throws Exception {
    vault().add(ALICE, null, "BOUND", "bound-value-1", false, List.of("api.example.com"));
    Sandbox sandbox = fixture.sandbox();
    Sandbox other = fixture.sandbox();
    String show =
        "printf '%s ' $BOUND $SSL_CERT_FILE; grep -c BEGIN $SSL_CERT_FILE >/dev/null && echo";

    String first = run(sandbox, show, "BOUND").stdout().text();
    assertThat(first).matches("carrel-secret-[0-9a-f]{40} \\S+/ca.pem \n");
    assertThat(run(other, show, "BOUND").stdout().text()).isNotEqualTo(first);
    // Later ones in the same sandbox reach the same hosts, and so have to know the authority.
    assertThat(run(sandbox, "echo [$BOUND] $SSL_CERT_FILE").stdout().text())
        .matches("\\[] \\S+/ca.pem\n");
    assertThat(run(fixture.sandbox(), "echo [$SSL_CERT_FILE]").stdout().text()).isEqualTo("[]\n");
    vault().rotate(ALICE, null, "BOUND", "bound-value-2");
    fixture.restart();
    assertThat(run(sandbox, show, "BOUND").stdout().text()).isEqualTo(first);
  }

  @Test
  void aCommandHasItsSecretsAndTheyDoNotComeOut() throws Exception {
    vault().add(ALICE, null, "API_KEY", VALUE, false);
    Sandbox sandbox = fixture.sandbox();

    ExecResult result =
        run(
            sandbox,
            "test \"$API_KEY\" = 's3cr3t-v4lue/+\"1\"' && echo same; echo \"<$API_KEY>\";"
                + " printf %s \"$API_KEY\" | base64; printf %s \"$API_KEY\" | od -An -tx1 | tr -d"
                + " ' \\n'; echo; printf 'x%s' \"$API_KEY\" | base64; echo \"$API_KEY\" >&2",
            "API_KEY");

    assertThat(result.stdout().text())
        .startsWith("same\n<" + Redaction.MASK + ">\n" + Redaction.MASK + "\n" + Redaction.MASK)
        .doesNotContain(VALUE);
    assertThat(result.stderr().text()).isEqualTo(Redaction.MASK + "\n");
    assertThat(output(sandbox, result)).doesNotContain(VALUE).contains(Redaction.MASK);
    assertThat(fixture.control().audit().page(ALICE, AuditQuery.newest(100)).toString())
        .contains("secret.add", "secret.use", "API_KEY", "alice")
        .doesNotContain(VALUE);
    // Another command of the same sandbox does not have it.
    assertThat(run(sandbox, "echo \"[$API_KEY]\"").stdout().text()).isEqualTo("[]\n");
    refused(ErrorCode.SECRET_NOT_FOUND, () -> run(sandbox, "true", "NO_SUCH"));
  }

  @Test
  void allProcessesOfASandboxHaveItsSecrets() throws Exception {
    vault().add(ALICE, "lab", "API_KEY", VALUE, false);
    refused(
        ErrorCode.SECRET_NOT_FOUND,
        () -> sandboxes(CreateSandbox.defaults().withSecrets("API_KEY")));
    Sandbox sandbox =
        sandboxes(CreateSandbox.defaults().withNamespace("lab").withSecrets("API_KEY"));

    assertThat(run(sandbox, "echo ${#API_KEY}").stdout().text()).isEqualTo("17\n");
    for (Language language : List.of(Language.PYTHON, Language.BASH)) {
      var code =
          language == Language.PYTHON
              ? "import os; k = os.environ['API_KEY']; print(len(k), k); k"
              : "echo ${#API_KEY} $API_KEY";
      var cell =
          fixture.control().contexts().execute(ALICE, sandbox.id(), ExecuteCode.of(language, code));
      assertThat(cell.stdout().text()).startsWith("17 " + Redaction.MASK);
      assertThat(cell.toString()).doesNotContain("s3cr3t");
    }
    // A rotated one reaches what starts from now on; the old one still does not come out.
    vault().rotate(ALICE, "lab", "API_KEY", "brand-new-value");
    assertThat(
            run(sandbox, "echo $API_KEY ${#API_KEY}; echo 's3cr3t-v4lue/+\"1\"'").stdout().text())
        .isEqualTo(Redaction.MASK + " 15\n" + Redaction.MASK + "\n");
  }

  @Test
  void resultsAndTracebacksOfCodeAreClean() throws Exception {
    vault().add(ALICE, null, "API_KEY", VALUE, false);
    Sandbox sandbox = fixture.sandbox();
    var context =
        fixture
            .control()
            .contexts()
            .create(ALICE, sandbox.id(), CreateContext.of(Language.PYTHON).withSecrets("API_KEY"));

    for (String code :
        List.of(
            "import os; os.environ['API_KEY']",
            "import os; raise ValueError(os.environ['API_KEY'])",
            "import os, base64; {'k': base64.b64encode(os.environ['API_KEY'].encode())}")) {
      var result =
          fixture
              .control()
              .contexts()
              .execute(ALICE, sandbox.id(), new ExecuteCode(code, null, context.id(), null));
      MimeBundle bundle = result.result();
      String shown =
          result.error()
              + (bundle == null
                  ? ""
                  : bundle.items().stream().map(MimeBundle.Item::text).toList().toString());
      assertThat(shown)
          .contains(Redaction.MASK)
          .doesNotContain("s3cr3t")
          .doesNotContain("czNjcjN0");
    }
  }

  @Test
  void filesAreReadWithoutTheirSecrets() throws Exception {
    vault().add(ALICE, null, "API_KEY", VALUE, false);
    Sandbox sandbox = fixture.sandbox();
    run(
        sandbox,
        "echo \"head $API_KEY tail\" > plain; mkdir \"d-API\"; printf %s \"${API_KEY#*/}\" > /dev/null;"
            + " touch \"d-API/$(printf %s \"$API_KEY\" | base64)\"",
        "API_KEY");

    assertThat(read(sandbox, "plain", null)).isEqualTo("head " + Redaction.MASK + "*** tail\n");
    for (int from = 0; from < 20; from++) {
      String part = read(sandbox, "plain", new ByteRange((long) from, from + 7L));
      assertThat(part)
          .isEqualTo(("head " + Redaction.MASK + "*** tail\n").substring(from, from + 8));
    }
    var grep =
        fixture
            .control()
            .files()
            .grep(
                ALICE,
                sandbox.id(),
                new Grep("/workspace", "head", null, false, true, false, 0, 10));
    assertThat(grep.matches())
        .singleElement()
        .satisfies(m -> assertThat(m.text()).isEqualTo("head " + Redaction.MASK + " tail"));
    var listing = fixture.control().files().list(ALICE, sandbox.id(), "d-API", 1, 10);
    assertThat(listing.entries())
        .singleElement()
        .satisfies(entry -> assertThat(entry.name()).isEqualTo(Redaction.MASK));
    var zip = new ByteArrayOutputStream();
    fixture.control().files().pack(ALICE, sandbox.id(), "/workspace", ArchiveFormat.ZIP, zip);
    assertThat(zip.toString(StandardCharsets.ISO_8859_1)).doesNotContain("czNjcjN0");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                fixture.control().files().stat(ALICE, sandbox.id(), "missing-s3cr3t-v4lue/+\"1\""))
        .satisfies(e -> assertThat(e.message()).doesNotContain("s3cr3t-v4lue"));
  }

  @Test
  void aLaterServerStillKnowsWhatMustNotLeave() throws Exception {
    vault().add(ALICE, null, "API_KEY", VALUE, false);
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo $API_KEY > kept", "API_KEY");
    vault().delete(ALICE, null, "API_KEY");

    fixture.restart();

    assertThat(run(sandbox, "cat kept").stdout().text()).isEqualTo(Redaction.MASK + "\n");
  }

  @Test
  void nothingAtRestHoldsAValue() throws Exception {
    vault().add(ALICE, null, "API_KEY", VALUE, false);
    Sandbox sandbox = fixture.sandbox();
    run(sandbox, "echo $API_KEY; exit 3", "API_KEY");
    fixture.restart();

    try (var files = Files.walk(fixture.data())) {
      for (var file : files.filter(Files::isRegularFile).toList()) {
        assertThat(Files.readString(file, StandardCharsets.ISO_8859_1))
            .describedAs(file.toString())
            .doesNotContain("s3cr3t");
      }
    }
    for (String name : List.of("vault.key", "vault.seal")) {
      assertThat(
              PosixFilePermissions.toString(
                  Files.getPosixFilePermissions(fixture.data().resolve(name))))
          .isEqualTo("rw-------");
    }
    assertThat(run(sandbox, "echo ${#API_KEY}", "API_KEY").stdout().text()).isEqualTo("17\n");
  }

  @Test
  void theServersOwnVariablesAreTheOperatorsSecrets() throws Exception {
    assertThat(vault().list(OPERATOR, "lab"))
        .extracting(Secret::name)
        .containsExactly("OTHER", "SHORT", "TOKEN");
    assertThat(vault().list(ALICE, "lab")).isEmpty();
    Sandbox sandbox =
        fixture
            .control()
            .sandboxes()
            .create(OPERATOR, CreateSandbox.defaults().withNamespace("lab"));
    try {
      assertThat(
              fixture
                  .control()
                  .execs()
                  .run(
                      OPERATOR,
                      sandbox.id(),
                      ExecStart.of(Command.of("sh", "-c", "echo $TOKEN ${#TOKEN} $OTHER"))
                          .withSecrets("TOKEN", "OTHER"))
                  .stdout()
                  .text())
          .isEqualTo(Redaction.MASK + " 15 " + Redaction.MASK + "\n");
      refused(
          ErrorCode.INVALID_INPUT,
          () ->
              fixture
                  .control()
                  .execs()
                  .run(
                      OPERATOR,
                      sandbox.id(),
                      ExecStart.of(Command.of("true")).withSecrets("SHORT")));
    } finally {
      fixture.control().sandboxes().delete(OPERATOR, sandbox.id());
    }
  }

  private Vault vault() {
    return fixture.control().vault();
  }

  private Sandbox sandboxes(CreateSandbox request) {
    return fixture.control().sandboxes().create(ALICE, request);
  }

  private ExecResult run(Sandbox sandbox, String line, String... secrets)
      throws InterruptedException {
    return fixture
        .control()
        .execs()
        .run(
            ALICE, sandbox.id(), ExecStart.of(Command.of("bash", "-c", line)).withSecrets(secrets));
  }

  private String output(Sandbox sandbox, ExecResult result) {
    Control control = fixture.control();
    var text = new StringBuilder();
    control
        .execs()
        .output(ALICE, sandbox.id(), result.id(), 0, 1 << 20)
        .chunks()
        .forEach(chunk -> text.append(StandardCharsets.UTF_8.decode(chunk.bytes().duplicate())));
    return text.toString();
  }

  private String read(Sandbox sandbox, String path, @Nullable ByteRange range) throws IOException {
    try (FileDownload download = fixture.control().files().read(ALICE, sandbox.id(), path, range)) {
      var out = new ByteArrayOutputStream();
      download.transferTo(out);
      return out.toString(StandardCharsets.UTF_8);
    }
  }

  private static void refused(ErrorCode code, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .satisfies(e -> assertThat(e.code()).isEqualTo(code));
  }
}
