package dev.carrel.control.audit;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Namespace;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.spi.FileChange;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Text;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Something that was done, as the feature that did it tells it. Text of sandboxes comes here after
 * redaction; it is cut to what a record may hold.
 *
 * @param action two words such as {@code exec.run}
 * @param subject what it was done to: the id of an exec, a path, a name; null when the sandbox says
 *     it all
 * @param digest SHA-256 in hex of the request, {@link RequestDigest}; null when there was none
 * @param details what else is known of it
 */
public record AuditEntry(
    Who who,
    String action,
    @Nullable String subject,
    @Nullable String digest,
    Outcome outcome,
    Map<String, String> details) {
  private static final Pattern ACTION = Pattern.compile("[a-z]+(\\.[a-z_]+)+");
  private static final int MAX_TEXT = 4096;
  private static final int MAX_DETAILS = 32;

  public AuditEntry {
    if (!ACTION.matcher(action).matches()) {
      throw new IllegalArgumentException("not an action: " + action);
    }
    subject = subject == null ? null : cut(subject);
    details = fits(details) ? Map.copyOf(details) : cut(details);
  }

  public static AuditEntry of(Who who, String action, Outcome outcome) {
    return new AuditEntry(who, action, null, null, outcome, Map.of());
  }

  public AuditEntry withSubject(String newSubject) {
    return new AuditEntry(who, action, newSubject, digest, outcome, details);
  }

  public AuditEntry withDigest(@Nullable String newDigest) {
    return new AuditEntry(who, action, subject, newDigest, outcome, details);
  }

  public AuditEntry withDetails(Map<String, String> newDetails) {
    return new AuditEntry(who, action, subject, digest, outcome, newDetails);
  }

  private static boolean fits(Map<String, String> details) {
    boolean fits = details.size() <= MAX_DETAILS;
    for (Map.Entry<String, String> detail : details.entrySet()) {
      fits &= detail.getKey().length() <= MAX_TEXT && detail.getValue().length() <= MAX_TEXT;
    }
    return fits;
  }

  private static Map<String, String> cut(Map<String, String> details) {
    var kept = new LinkedHashMap<String, String>();
    details.entrySet().stream()
        .limit(MAX_DETAILS)
        .forEach(detail -> kept.put(cut(detail.getKey()), cut(detail.getValue())));
    return Map.copyOf(kept);
  }

  private static String cut(String text) {
    return text.length() <= MAX_TEXT ? text : Text.head(text, MAX_TEXT - 1) + "…";
  }

  /**
   * Who did it, and where.
   *
   * @param tenant whose it is, who may read of it
   * @param principal who asked; {@code carrel} for what the server does by itself
   * @param sandbox null when it is about none
   */
  public record Who(
      String tenant, String principal, String namespace, @Nullable SandboxId sandbox) {
    public static final String SERVER = "carrel";

    /** Of a caller's own things, in no sandbox. */
    public static Who of(Caller caller) {
      return new Who(caller.tenant(), caller.principal(), Namespace.DEFAULT, null);
    }

    /** In a sandbox. */
    public static Who in(RunningSandbox sandbox, String principal) {
      return new Who(sandbox.tenant(), principal, sandbox.namespace(), sandbox.id());
    }

    public static Who in(RunningSandbox sandbox, Caller caller) {
      return in(sandbox, caller.nameFor(sandbox.tenant()));
    }
  }

  /**
   * How it went.
   *
   * @param cause one word: {@code ok}, {@code returned}, {@code denied}, …
   * @param code an exit code
   * @param stdout the beginning and the end of it
   * @param isolation what really held the sandbox
   */
  public record Outcome(
      String cause,
      @Nullable Integer code,
      @Nullable Duration duration,
      @Nullable String stdout,
      @Nullable String stderr,
      List<FileChange> changes,
      @Nullable String isolation) {
    public static final Outcome OK = of("ok");

    public Outcome {
      changes = List.copyOf(changes);
    }

    public static Outcome of(String cause) {
      return new Outcome(cause, null, null, null, null, List.of(), null);
    }
  }
}
