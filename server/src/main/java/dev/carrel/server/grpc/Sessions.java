package dev.carrel.server.grpc;

import dev.carrel.control.Control;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.OnIdle;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.protocols.sandbox.CreateSessionRequest;
import dev.carrel.protocols.sandbox.SessionInfo;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;

/** What {@code sandbox.v1} calls sessions, as sandboxes. */
final class Sessions {
  static final String NOT_FOUND = "Session not found";
  static final String TIMED_OUT = "Command timed out";
  static final String LOST = "Session ended while the command ran";

  private static final String TENANT = "tenant_id";
  private static final Set<String> USUAL_HOSTS = Set.of("packages", "github");
  private static final Pattern PLAIN = Pattern.compile("[a-z0-9][a-z0-9._-]{0,39}");
  private static final int DIGEST = 56;

  private final Control control;

  Sessions(Control control) {
    this.control = control;
  }

  /** By the session's own id, or by a sandbox's. */
  SandboxId require(Caller caller, String session) {
    return control
        .sandboxes()
        .findByKey(caller, session)
        .map(Sandbox::id)
        .orElseGet(() -> control.sandboxes().get(caller, new SandboxId(session)).id());
  }

  static SandboxQuery query(Caller caller, int page) {
    return new SandboxQuery(
        page,
        SandboxQuery.MAX_PAGE_SIZE,
        null,
        null,
        null,
        null,
        SandboxQuery.SortBy.CREATED_AT,
        true,
        new SandboxQuery.Further(null, caller.tenant(), null));
  }

  CreateSandbox creation(CreateSessionRequest request) {
    String id =
        request.hasSessionId() && !request.getSessionId().isEmpty()
            ? request.getSessionId()
            : UUID.randomUUID().toString();
    CreateSandbox creation =
        CreateSandbox.defaults()
            .withSessionKey(id)
            .withExpiry(new CreateSandbox.Expiry(null, OnIdle.DESTROY, null))
            .withNetwork(CreateSandbox.Network.of(policy(request.getAllowedHostsList())));
    if (!request.hasTenantId() || request.getTenantId().isEmpty()) {
      return creation;
    }
    String tenant = request.getTenantId();
    return creation
        .withMetadata(Map.of(TENANT, tenant))
        .withStorage(new CreateSandbox.Storage(null, volume(tenant), null));
  }

  private static Policy policy(List<String> hosts) {
    if (hosts.isEmpty()) {
      return Policy.NOTHING.withPresets(USUAL_HOSTS);
    }
    try {
      return Policy.NOTHING.withAllow(hosts.stream().map(Rule::parse).toList());
    } catch (IllegalArgumentException e) {
      throw SandboxException.invalid("allowed_hosts", String.valueOf(e.getMessage()));
    }
  }

  /**
   * Where the files of a tenant of the client are kept from session to session. It belongs to the
   * tenant of the token: whatever a client writes here, it never reaches beyond that.
   */
  private static String volume(String tenant) {
    if (PLAIN.matcher(tenant).matches()) {
      return "tenant-" + tenant;
    }
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(tenant.getBytes(StandardCharsets.UTF_8));
      // Longer than any plain one, so never the same.
      return "tenant-" + HexFormat.of().formatHex(digest).substring(0, DIGEST);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  SessionInfo info(Sandbox sandbox) {
    var info =
        SessionInfo.newBuilder()
            .setSessionId(
                sandbox.sessionKey() == null ? sandbox.id().value() : sandbox.sessionKey())
            .setContainerId(sandbox.id().value())
            .setCreatedAt(seconds(sandbox.createdAt()))
            .setLastActivity(seconds(sandbox.lastActivityAt()))
            .setStatus(word(sandbox.status()))
            .addAllAllowedHosts(hosts(sandbox.network()));
    String tenant = sandbox.metadata().get(TENANT);
    if (tenant != null) {
      info.setTenantId(tenant);
    }
    return info.build();
  }

  private Set<String> hosts(Policy policy) {
    var hosts = new LinkedHashSet<String>();
    policy.allow().forEach(rule -> hosts.add(rule.hosts().toString()));
    if (!policy.presets().isEmpty()) {
      Map<String, List<Rule>> presets = control.egress().presets();
      for (String preset : policy.presets()) {
        presets.getOrDefault(preset, List.of()).forEach(rule -> hosts.add(rule.hosts().toString()));
      }
    }
    return hosts;
  }

  /** Docker's words, which these clients know. */
  private static String word(SandboxStatus status) {
    return switch (status) {
      case CREATING -> "created";
      case RUNNING -> "running";
      case PAUSED -> "paused";
      case STOPPED -> "exited";
      case FAILED, DESTROYED -> "dead";
    };
  }

  private static double seconds(Instant time) {
    return time.toEpochMilli() / 1000.0;
  }
}
