package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a person has to allow first. */
public final class Approvals {
  private static final String PATH = "/api/v1/approvals";
  private static final TypeReference<ApprovalInfo> ONE = new TypeReference<>() {};
  private static final TypeReference<ApprovalList> ALL = new TypeReference<>() {};

  private final Transport transport;

  Approvals(Transport transport) {
    this.transport = transport;
  }

  /** Asks that a sandbox may reach a host; returns at once. */
  public ApprovalInfo askEgress(String sandboxId, String host, String reason) {
    return ask(
        Map.of("kind", "egress", "sandbox_id", sandboxId, "subject", host, "reason", reason));
  }

  /** Asks; names and types are those of the API. */
  public ApprovalInfo ask(Map<String, Object> request) {
    return transport.post(PATH, request, ONE);
  }

  /**
   * Newest first.
   *
   * @param status null: whatever it is
   */
  public List<ApprovalInfo> list(@Nullable String status) {
    String filter = status == null ? "" : "?status=" + Transport.encode(status);
    return transport.get(PATH + filter, ALL).approvals();
  }

  public ApprovalInfo get(String id) {
    return transport.get(path(id), ONE);
  }

  /**
   * As it is when it is decided, or after this time.
   *
   * @param seconds at most 300
   */
  public ApprovalInfo await(String id, int seconds) {
    return transport.get(path(id) + "?wait_seconds=" + seconds, ONE);
  }

  /**
   * Approves; for administrators.
   *
   * @param scope null: the one that was asked for
   * @param validSeconds null: as long as the scope says
   */
  public ApprovalInfo approve(
      String id, @Nullable String scope, @Nullable Long validSeconds, String note) {
    var decision = new HashMap<String, Object>(Map.of("approve", true, "note", note));
    if (scope != null) {
      decision.put("scope", scope);
    }
    if (validSeconds != null) {
      decision.put("valid_seconds", validSeconds);
    }
    return transport.post(path(id) + "/decision", decision, ONE);
  }

  /** Denies; for administrators. */
  public ApprovalInfo deny(String id, String note) {
    return transport.post(path(id) + "/decision", Map.of("approve", false, "note", note), ONE);
  }

  /** Takes a request back, or what was granted. */
  public ApprovalInfo withdraw(String id) {
    return transport.delete(path(id), ONE);
  }

  private static String path(String id) {
    return PATH + "/" + Transport.encode(id);
  }

  private record ApprovalList(List<ApprovalInfo> approvals) {}
}
