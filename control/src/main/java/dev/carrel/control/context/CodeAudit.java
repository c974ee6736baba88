package dev.carrel.control.context;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.audit.RequestDigest;
import dev.carrel.control.event.ExecutionEvents;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Puts cells on record, and tells of them. */
final class CodeAudit {
  private static final Logger LOG = LoggerFactory.getLogger(CodeAudit.class);

  private final Audit audit;
  private final ExecutionEvents events;

  CodeAudit(Audit audit, ExecutionEvents events) {
    this.audit = audit;
    this.events = events;
  }

  void begun(RunningSandbox sandbox, ContextId context) {
    events.started(sandbox.where(), Map.of("context_id", context.value()));
  }

  /** To be called once the interpreter has its work: does now what would be in the way later. */
  void prepare(Asked asked) {
    if (audit.enabled()) {
      asked.digest();
    }
  }

  /** The result, once it is on record; failed, when that could not be. */
  CodeResult over(RunningSandbox sandbox, Asked asked, CodeResult result) {
    CodeResult recorded = result;
    if (audit.enabled()) {
      try {
        audit.note(entry(sandbox, asked, result));
      } catch (SandboxException e) {
        recorded = result.unrecorded(e.message());
      } catch (RuntimeException e) {
        // A store that fails in an unforeseen way must not keep the cell from ending.
        LOG.error("context {}: a cell could not be put on record", result.context(), e);
        recorded = result.unrecorded("the server failed");
      }
    }
    events.ended(
        sandbox.where(),
        Map.of("context_id", result.context().value()),
        result.cause(),
        recorded.success(),
        result.duration());
    return recorded;
  }

  private static AuditEntry entry(RunningSandbox sandbox, Asked asked, CodeResult result) {
    CodeError error = result.error();
    String cause = result.cause().name().toLowerCase(Locale.ROOT);
    var outcome =
        new Outcome(
            error == null ? cause : cause + ": " + error.type(),
            null,
            result.duration(),
            result.stdout().text(),
            result.stderr().text(),
            List.of(),
            sandbox.isolationName());
    return new AuditEntry(
        Who.in(sandbox, asked.principal()),
        "code.run",
        result.context().value(),
        asked.digest(),
        outcome,
        details(asked.request(), result));
  }

  private static Map<String, String> details(ExecuteCode request, CodeResult result) {
    var details = new HashMap<String, String>();
    details.put("language", result.language().wireName());
    details.put("code", request.code());
    ExecId id = request.request();
    if (id != null) {
      details.put("request_id", id.value());
    }
    return details;
  }

  /**
   * What was asked, and by whom. Its digest is made while the interpreter works, so that nobody
   * waits for it afterwards; by whom of two threads does not matter, since both find the same.
   */
  static final class Asked {
    private final String principal;
    private final ExecuteCode request;
    private volatile @Nullable String digest;

    Asked(String principal, ExecuteCode request) {
      this.principal = principal;
      this.request = request;
    }

    String principal() {
      return principal;
    }

    ExecuteCode request() {
      return request;
    }

    String digest() {
      String known = digest;
      if (known == null) {
        Language language = request.language();
        ContextId context = request.context();
        known =
            new RequestDigest()
                .add("code")
                .add(request.code())
                .add(language == null ? null : language.wireName())
                .add(context == null ? null : context.value())
                .add(String.valueOf(request.timeout()))
                .hex();
        digest = known;
      }
      return known;
    }
  }
}
