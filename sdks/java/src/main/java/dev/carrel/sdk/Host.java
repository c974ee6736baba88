package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The machine that the server runs on, as far as it is lent out: off unless its operator enables
 * it, and then for tokens that have the permission {@code host}.
 */
public final class Host {
  private static final String PATH = "/api/v1/host";
  private static final TypeReference<HostAccess> ACCESS = new TypeReference<>() {};
  private static final TypeReference<HostResult> RESULT = new TypeReference<>() {};
  private static final TypeReference<HostContent> CONTENT = new TypeReference<>() {};
  private static final TypeReference<HostWritten> WRITTEN = new TypeReference<>() {};
  private static final TypeReference<Listing> LISTING = new TypeReference<>() {};

  private final Transport transport;
  private final Approvals approvals;

  Host(Transport transport, Approvals approvals) {
    this.transport = transport;
    this.approvals = approvals;
  }

  /** What is allowed, blocked, approved and asked for. */
  public HostAccess access() {
    return transport.get(PATH, ACCESS);
  }

  /**
   * Runs a command without a shell, and waits for its end.
   *
   * @param command the program and its arguments, each as it is
   * @param options {@code cwd}, {@code timeout_seconds}, {@code sandbox_id}, {@code namespace}
   */
  public HostResult exec(List<String> command, Map<String, Object> options) {
    var body = new HashMap<>(options);
    body.put("command", List.copyOf(command));
    return transport.post(PATH + "/exec", body, RESULT);
  }

  /**
   * Reads a part of a file.
   *
   * @param limit bytes; null: a mebibyte
   */
  public HostContent read(String path, long offset, @Nullable Integer limit, boolean base64) {
    var body =
        new HashMap<String, Object>(Map.of("path", path, "offset", offset, "base64", base64));
    if (limit != null) {
      body.put("limit", limit);
    }
    return transport.post(PATH + "/read", body, CONTENT);
  }

  /**
   * Writes a whole file; its folder must be there.
   *
   * @param content text, or bytes as base64
   */
  public HostWritten write(String path, String content, boolean base64) {
    return transport.post(
        PATH + "/write", Map.of("path", path, "content", content, "base64", base64), WRITTEN);
  }

  /** Lists a folder. */
  public List<HostEntry> list(String path) {
    return transport.post(PATH + "/list", Map.of("path", path), LISTING).files();
  }

  /** Copies a file. */
  public HostWritten copy(String source, String destination) {
    return transport.post(
        PATH + "/copy", Map.of("source", source, "destination", destination), WRITTEN);
  }

  /**
   * Asks a person to allow a command, or a pattern of commands.
   *
   * @param scope {@code once}, {@code sandbox} or {@code namespace}
   * @param sandboxId null: for no sandbox
   */
  public ApprovalInfo ask(String pattern, String scope, @Nullable String sandboxId, String reason) {
    var request =
        new HashMap<String, Object>(
            Map.of("kind", "host_command", "subject", pattern, "scope", scope, "reason", reason));
    if (sandboxId != null) {
      request.put("sandbox_id", sandboxId);
    }
    return approvals.ask(request);
  }

  private record Listing(List<HostEntry> files) {}
}
