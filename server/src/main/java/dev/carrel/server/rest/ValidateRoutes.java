package dev.carrel.server.rest;

import dev.carrel.control.validate.CheckCode;
import dev.carrel.control.validate.CheckCode.OnDanger;
import dev.carrel.control.validate.Validator;
import dev.carrel.control.validate.Verdict;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Code that is looked at and not run. */
final class ValidateRoutes {
  private final Validator validator;

  ValidateRoutes(Validator validator) {
    this.validator = validator;
  }

  void addTo(Router router) {
    router.post("/api/v1/validate", this::validate);
  }

  private void validate(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    String sandbox = fields.string("sandbox_id");
    var request =
        new CheckCode(
            fields.requiredString("code"),
            Language.parse(fields.string("language", "python")),
            sandbox == null ? null : new SandboxId(sandbox),
            OnDanger.parse(fields.string("on_danger", "warn")),
            fields.bool("auto_fix", true));
    exchange.cancelWhenClientLeaves();
    Verdict verdict = validator.check(exchange.caller(), request);
    exchange.json(200, View.of(verdict));
  }

  record View(
      boolean valid, List<FindingView> findings, List<String> imports, @Nullable String fixedCode) {
    static View of(Verdict verdict) {
      return new View(
          verdict.valid(),
          verdict.findings().stream().map(FindingView::of).toList(),
          verdict.imports(),
          verdict.fixed());
    }
  }

  record FindingView(String rule, String severity, int line, int column, String message) {
    static FindingView of(Verdict.Finding finding) {
      return new FindingView(
          finding.rule(),
          finding.severity().wireName(),
          finding.line(),
          finding.column(),
          finding.message());
    }
  }
}
