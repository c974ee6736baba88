package dev.carrel.control.validate;

import dev.carrel.control.admission.Creates;
import dev.carrel.control.context.Contexts;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.validate.CheckCode.OnDanger;
import dev.carrel.control.validate.Verdict.Finding;
import dev.carrel.control.validate.Verdict.Severity;
import dev.carrel.spi.Command;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * Looks at code without running it, always inside a sandbox: a parser that reads hostile text is no
 * work for the host. What it says is advice, and no boundary. Safe for many threads.
 */
public final class Validator {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final int NOT_FOUND = 127;
  private static final String CHECK = read("check.py");
  private static final String NODE =
      "d=$(mktemp -d) && cat > $d/code.js && cp $d/code.js $d/code.mjs && "
          + "{ node --check $d/code.mjs 2>/dev/null || node --check $d/code.js; }; "
          + "r=$?; rm -rf $d; exit $r";
  private static final String R =
      "tryCatch(invisible(parse(file = file('stdin'), keep.source = FALSE)),"
          + " error = function(e) { cat(conditionMessage(e), file = stderr());"
          + " quit(status = 1) })";

  private final Sandboxes sandboxes;
  private final Creates creates;
  private final Execs execs;
  private final Contexts contexts;

  public Validator(Sandboxes sandboxes, Creates creates, Execs execs, Contexts contexts) {
    this.sandboxes = sandboxes;
    this.creates = creates;
    this.execs = execs;
    this.contexts = contexts;
  }

  public Verdict check(Caller caller, CheckCode request) throws InterruptedException {
    SandboxId known = request.sandbox();
    if (known != null) {
      return verdict(request, look(caller, known, request));
    }
    Sandbox made =
        creates
            .create(
                caller,
                CreateSandbox.defaults().withStorage(CreateSandbox.Storage.EPHEMERAL),
                null,
                () -> {})
            .sandbox();
    try {
      return verdict(request, look(caller, made.id(), request));
    } finally {
      sandboxes.delete(caller, made.id());
    }
  }

  /**
   * The code of a cell that may run, with missing imports if that is wanted; refuses what cannot be
   * read, and what is dangerous if the request says so.
   */
  public ExecuteCode admit(
      Caller caller, SandboxId sandbox, ExecuteCode cell, OnDanger onDanger, boolean autoFix)
      throws InterruptedException {
    Language language = language(caller, sandbox, cell);
    Verdict verdict =
        check(caller, new CheckCode(cell.code(), language, sandbox, onDanger, autoFix));
    if (!verdict.valid()) {
      Finding worst =
          verdict.findings().stream()
              .min(Comparator.comparing(Finding::severity))
              .orElseThrow(() -> new IllegalStateException("nothing speaks against it"));
      throw SandboxException.invalid(
              "code",
              "line %d: %s (%s): %s"
                  .formatted(
                      worst.line(), worst.rule(), worst.severity().wireName(), worst.message()))
          .withHint("POST /api/v1/validate, or the tool validate_code, lists all findings");
    }
    String fixed = verdict.fixed();
    return fixed == null ? cell : cell.withCode(fixed);
  }

  private Language language(Caller caller, SandboxId sandbox, ExecuteCode cell) {
    Language asked = cell.language();
    ContextId context = cell.context();
    if (asked != null) {
      return asked;
    }
    return context == null ? Language.PYTHON : contexts.get(caller, sandbox, context).language();
  }

  private Findings look(Caller caller, SandboxId sandbox, CheckCode request)
      throws InterruptedException {
    Language language = request.language();
    var command = new Command(program(language), Map.of(), null, null, PATIENCE, true);
    ExecResult result =
        execs.run(
            caller,
            sandbox,
            ExecStart.of(command).withInput(request.code().getBytes(StandardCharsets.UTF_8)));
    if (result.timedOut()) {
      throw SandboxException.invalid(
          "code", "could not be read within " + PATIENCE.toSeconds() + " s");
    }
    if (result.exitCode() == NOT_FOUND || result.cause() == ExecEvent.Cause.NOT_STARTED) {
      throw new SandboxException(
              ErrorCode.LANGUAGE_NOT_AVAILABLE,
              "the sandbox's image has nothing that reads " + language.wireName())
          .withHint("use an image with the interpreter of that language");
    }
    if (result.exitCode() != 0) {
      return Findings.ofError(language, result.stderr().text());
    }
    return Findings.ofPython(language == Language.PYTHON ? result.stdout().text() : "");
  }

  private static List<String> program(Language language) {
    return switch (language) {
      case PYTHON -> List.of("python3", "-I", "-S", "-c", CHECK);
      case NODE -> List.of("sh", "-c", NODE);
      case BASH -> List.of("bash", "-n", "-s");
      case R -> List.of("Rscript", "--vanilla", "-e", R);
    };
  }

  private static Verdict verdict(CheckCode request, Findings findings) {
    var shown = new ArrayList<Finding>();
    boolean valid = true;
    for (Finding finding : findings.found()) {
      boolean danger = finding.severity().danger();
      if (danger && request.onDanger() == OnDanger.OFF) {
        continue;
      }
      shown.add(finding);
      valid &=
          finding.severity() != Severity.ERROR
              && !(danger && request.onDanger() == OnDanger.REJECT);
    }
    List<String> imports = request.autoFix() ? findings.imports() : List.of();
    return new Verdict(
        valid,
        shown,
        imports,
        imports.isEmpty() ? null : fixed(request.code(), imports, findings.importsAfter()));
  }

  private static String fixed(String code, List<String> imports, int after) {
    var lines = new ArrayList<>(code.lines().toList());
    lines.addAll(Math.min(after, lines.size()), imports);
    return String.join("\n", lines) + (code.endsWith("\n") ? "\n" : "");
  }

  private static String read(String name) {
    try (InputStream in = Validator.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IllegalStateException("not in this build: " + name);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + name, e);
    }
  }
}
