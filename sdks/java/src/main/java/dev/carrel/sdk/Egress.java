package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What one sandbox may reach. */
public final class Egress {
  private static final TypeReference<EgressInfo> INFO = new TypeReference<>() {};
  private static final TypeReference<DecisionList> DECISIONS = new TypeReference<>() {};
  private static final TypeReference<EgressAccess> ACCESS = new TypeReference<>() {};

  private final Transport transport;
  private final String path;

  Egress(Transport transport, String sandboxPath) {
    this.transport = transport;
    this.path = sandboxPath + "/egress";
  }

  /** What it may reach, and what went through. */
  public EgressInfo get() {
    return transport.get(path, INFO);
  }

  /** Changes what it may reach, at once; connections that are no longer allowed are cut. */
  public EgressInfo set(NetworkPolicy policy) {
    return transport.put(path, policy, INFO);
  }

  /** What was decided since its machine started, latest first. */
  public List<EgressDecision> decisions() {
    return transport.get(path + "/decisions", DECISIONS).decisions();
  }

  /**
   * A way to use the network as this sandbox from elsewhere, where the server is set up for it.
   *
   * @param hosts all that may be reached with it, within the policy; empty: what that allows
   */
  public EgressAccess access(List<String> hosts, Duration life) {
    var body = new HashMap<String, Object>(Map.of("ttl_seconds", life.toSeconds()));
    if (!hosts.isEmpty()) {
      body.put("hosts", hosts);
    }
    return transport.post(path + "/tokens", body, ACCESS);
  }

  private record DecisionList(List<EgressDecision> decisions) {}
}
