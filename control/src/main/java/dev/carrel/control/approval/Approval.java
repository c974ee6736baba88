package dev.carrel.control.approval;

import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.ApprovalId;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Instant;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A request to a person, and its answer.
 *
 * @param sandbox null: it is about all of the namespace
 * @param subject what is to be allowed: a host, a command, the name of a secret
 * @param requester who asked
 * @param endsAt when the request ends undecided, or what was granted ends; null: never
 * @param decision null: nobody has decided
 */
public record Approval(
    ApprovalId id,
    String tenant,
    String namespace,
    @Nullable SandboxId sandbox,
    Kind kind,
    String subject,
    Scope scope,
    String reason,
    String requester,
    Status status,
    Instant createdAt,
    @Nullable Instant endsAt,
    @Nullable Decision decision) {

  /** Whether it is for whoever asked, and nobody else. */
  boolean isPersonal() {
    return scope == Scope.ONCE && sandbox == null;
  }

  /** Whether it is in force for this sandbox. */
  boolean grants(Kind wanted, Sandbox to, Instant now) {
    return status == Status.APPROVED
        && kind == wanted
        && tenant.equals(to.tenant())
        && (endsAt == null || endsAt.isAfter(now))
        && (scope == Scope.NAMESPACE ? namespace.equals(to.namespace()) : to.id().equals(sandbox));
  }

  /** Whether it is in force for whoever acts. */
  boolean grants(Kind wanted, Party party, Instant now) {
    return status == Status.APPROVED
        && kind == wanted
        && tenant.equals(party.tenant())
        && (endsAt == null || endsAt.isAfter(now))
        && switch (scope) {
          case NAMESPACE -> namespace.equals(party.namespace());
          case SANDBOX -> sandbox != null && sandbox.equals(party.sandbox());
          case ONCE ->
              sandbox != null
                  ? sandbox.equals(party.sandbox())
                  : namespace.equals(party.namespace()) && requester.equals(party.principal());
        };
  }

  /**
   * Who acts, and for whom.
   *
   * @param sandbox null: for none
   */
  public record Party(
      String tenant, String principal, String namespace, @Nullable SandboxId sandbox) {}

  /** What is asked for. */
  public enum Kind {
    /** To reach a host. */
    EGRESS,
    /** To run a command on the host. */
    HOST_COMMAND,
    /** To use a secret. */
    SECRET;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }

    public static Kind parse(String text) {
      return named("kind", text, values());
    }
  }

  /** How far it goes. */
  public enum Scope {
    /** For one use, or a few minutes where uses cannot be counted. */
    ONCE,
    SANDBOX,
    /** Every sandbox of the namespace, those to come too. */
    NAMESPACE;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }

    public static Scope parse(String text) {
      return named("scope", text, values());
    }
  }

  /** How it stands. */
  public enum Status {
    PENDING,
    APPROVED,
    DENIED,
    /** Nobody decided in time, or what was granted has ended. */
    EXPIRED,
    /** Taken back, by whoever asked or by whoever granted it. */
    WITHDRAWN,
    /** Granted once, and used. */
    USED;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }

    public static Status parse(String text) {
      return named("status", text, values());
    }
  }

  private static <E extends Enum<E>> E named(String field, String text, E[] values) {
    for (E value : values) {
      if (value.name().toLowerCase(Locale.ROOT).equals(text)) {
        return value;
      }
    }
    throw SandboxException.invalid(
        field,
        "must be one of "
            + String.join(
                ", ", Arrays.stream(values).map(v -> v.name().toLowerCase(Locale.ROOT)).toList()));
  }

  /** Who decided, and what they said. */
  public record Decision(Instant at, String by, String note) {}
}
