package dev.carrel.control.egress;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.PatchSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.egress.Decision;
import dev.carrel.egress.HostPattern;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What sandboxes may reach and have reached. */
public final class Egress {
  private final Sandboxes sandboxes;
  private final Gates gates;

  public Egress(Sandboxes sandboxes, Gates gates) {
    this.sandboxes = sandboxes;
    this.gates = gates;
  }

  /**
   * One sandbox's network.
   *
   * @param granted what a person allows beyond the policy
   * @param sent bytes, since the sandbox exists
   * @param draft the least policy that allows what passed lately
   */
  public record State(Policy policy, List<Rule> granted, long sent, long received, Policy draft) {
    public State {
      granted = List.copyOf(granted);
    }
  }

  public State show(Caller caller, SandboxId id) {
    Sandbox sandbox = sandboxes.get(caller, id);
    EgressStore.Use use = gates.use(id).orElseGet(() -> gates.store().find(id));
    return new State(
        sandbox.network(),
        gates.granted(sandbox),
        use.sent(),
        use.received(),
        draft(gates.decisions(id)));
  }

  /** Holds at once; connections that it no longer allows are cut. */
  public State set(Caller caller, SandboxId id, Policy policy) {
    sandboxes.patch(caller, id, PatchSandbox.network(policy));
    return show(caller, id);
  }

  /** What was decided since its machine started, latest first; like decisions are counted. */
  public List<CountedDecision> decisions(Caller caller, SandboxId id) {
    sandboxes.requireVisible(caller, id);
    return gates.decisions(id);
  }

  /**
   * How to reach the proxy over TCP as this sandbox.
   *
   * @param address a URL with a secret in it
   */
  public record Access(String address, Instant expiresAt) {}

  /**
   * Lets whoever gets it use the network as this sandbox does, until it expires or the machine
   * ends.
   *
   * @param hosts all that may be reached with it, within the policy; null: what that allows
   */
  public Access access(
      Caller caller, SandboxId id, @Nullable List<HostPattern> hosts, Duration life) {
    Sandbox sandbox = sandboxes.get(caller, id);
    Instant expires = Instant.now().plus(life).truncatedTo(ChronoUnit.SECONDS);
    return new Access(gates.address(caller, sandbox, hosts, expires), expires);
  }

  /** What each preset allows. */
  public SortedMap<String, List<Rule>> presets() {
    var all = new TreeMap<String, List<Rule>>();
    gates.presets().names().forEach(name -> all.put(name, gates.presets().rules(name)));
    return all;
  }

  private static Policy draft(List<CountedDecision> decisions) {
    var rules = new TreeSet<String>();
    for (CountedDecision counted : decisions) {
      Decision decision = counted.last();
      boolean passed =
          switch (decision.outcome()) {
            case ALLOWED, OBSERVED -> true;
            case DENIED, FAILED -> false;
          };
      if (passed) {
        String host = decision.host().contains(":") ? "[" + decision.host() + "]" : decision.host();
        boolean web = decision.port() == 80 || decision.port() == 443;
        rules.add(web ? host : host + ":" + decision.port());
      }
    }
    return Policy.NOTHING.withAllow(rules.stream().map(Rule::parse).toList());
  }
}
