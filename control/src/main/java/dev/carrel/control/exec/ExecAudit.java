package dev.carrel.control.exec;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.audit.RequestDigest;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.spi.Command;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.ExecEvent.Exited;
import java.util.HashMap;
import java.util.Locale;
import java.util.Objects;

/** Puts execs on record. */
final class ExecAudit {
  private static final String RUN = "exec.run";
  private static final String UNKNOWN = "unknown";

  private final Audit audit;

  ExecAudit(Audit audit) {
    this.audit = audit;
  }

  /** Of what was asked for, without what the server adds. */
  String digest(Command command, ExecStart request) {
    if (!audit.enabled()) {
      return "";
    }
    return new RequestDigest()
        .add("exec")
        .add(command.arguments())
        .add(command.environment())
        .add(command.cwd())
        .add(String.valueOf(command.timeout()))
        .add(String.valueOf(command.terminal()))
        .add(String.valueOf(request.background()))
        .add(request.input())
        .hex();
  }

  /** One that will be acknowledged before it ends. */
  void started(RunningSandbox sandbox, Exec exec) {
    if (audit.enabled()) {
      audit.note(entry(who(sandbox, exec), "exec.start", exec, Outcome.OK));
    }
  }

  /** Returns once it is on record that, and how, it ended. */
  void ended(RunningSandbox sandbox, LiveExec live) {
    if (!audit.enabled()) {
      return;
    }
    Exec exec = live.exec();
    Exited exited = Objects.requireNonNull(exec.exited());
    var outcome =
        new Outcome(
            exited.cause().name().toLowerCase(Locale.ROOT),
            exited.code(),
            exited.duration(),
            live.text(Channel.STDOUT).text(),
            live.text(Channel.STDERR).text(),
            exited.changes(),
            sandbox.isolationName());
    audit.note(entry(who(sandbox, exec), RUN, exec, outcome));
  }

  /** One that an earlier process started, and whose end nobody saw. */
  void lost(ExecStore.Owner owner, Exec exec) {
    audit.later(
        entry(
            new Who(owner.tenant(), principal(exec), owner.namespace(), exec.sandbox()),
            RUN,
            exec,
            Outcome.of("sandbox_lost")));
  }

  private static Who who(RunningSandbox sandbox, Exec exec) {
    return Who.in(sandbox, principal(exec));
  }

  static String principal(Exec exec) {
    return exec.principal().isEmpty() ? UNKNOWN : exec.principal();
  }

  private static AuditEntry entry(Who who, String action, Exec exec, Outcome outcome) {
    var details = new HashMap<String, String>();
    details.put("command", exec.line());
    if (exec.cwd() != null) {
      details.put("cwd", exec.cwd());
    }
    return new AuditEntry(
        who,
        action,
        exec.id().value(),
        exec.digest().isEmpty() ? null : exec.digest(),
        outcome,
        details);
  }
}
