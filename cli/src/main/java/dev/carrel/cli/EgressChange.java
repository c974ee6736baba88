package dev.carrel.cli;

import dev.carrel.sdk.NetworkPolicy;
import dev.carrel.sdk.Sandbox;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The verbs of {@code carrel egress} that change a policy. */
abstract class EgressChange implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  private EgressChange(Session session) {
    this.session = session;
  }

  abstract NetworkPolicy change(NetworkPolicy now);

  @Override
  public Integer call() {
    try (Session.Connection server = session.connect()) {
      Sandbox sandbox = server.carrel().sandboxes().get(id);
      EgressCommand.print(
          session.console(),
          common.json(),
          sandbox.egress().set(change(sandbox.egress().get().policy())));
    }
    return 0;
  }

  private static List<String> plus(List<String> now, List<String> more) {
    var all = new LinkedHashSet<>(now);
    all.addAll(more);
    return List.copyOf(all);
  }

  @Command(
      name = "allow",
      description = {
        "Let a sandbox reach something more, at once.",
        "",
        "A rule is HOST[:PORT] [METHOD,...] [/PATH...]. *.HOST means HOST and all below it. Without",
        "a port it means 80 and 443. Methods and paths count for plain http only; quote such a rule."
      })
  static final class Allow extends EgressChange {
    @Parameters(index = "1..*", arity = "1..*", paramLabel = "RULE", description = "What to allow.")
    private List<String> rules = List.of();

    Allow(Session session) {
      super(session);
    }

    @Override
    NetworkPolicy change(NetworkPolicy now) {
      return now.withAllow(plus(now.allow(), rules));
    }
  }

  @Command(name = "deny", description = "Deny a host whatever the rules and presets allow.")
  static final class Deny extends EgressChange {
    @Parameters(index = "1..*", arity = "1..*", paramLabel = "HOST", description = "What to deny.")
    private List<String> hosts = List.of();

    Deny(Session session) {
      super(session);
    }

    @Override
    NetworkPolicy change(NetworkPolicy now) {
      return now.withDeny(plus(now.deny(), hosts));
    }
  }

  @Command(name = "remove", description = "Take rules, denied hosts or presets away, as shown.")
  static final class Remove extends EgressChange {
    @Parameters(index = "1..*", arity = "1..*", paramLabel = "RULE", description = "As shown.")
    private List<String> rules = List.of();

    Remove(Session session) {
      super(session);
    }

    @Override
    NetworkPolicy change(NetworkPolicy now) {
      var allow = new ArrayList<>(now.allow());
      var deny = new ArrayList<>(now.deny());
      var presets = new TreeSet<>(now.presets());
      for (String rule : rules) {
        if (!allow.remove(rule) && !deny.remove(rule) && !presets.remove(rule)) {
          throw new CommandFailure(
              "the policy has no '" + rule + "'", "see carrel egress show for what it has");
        }
      }
      return now.withAllow(allow).withDeny(deny).withPresets(presets);
    }
  }

  @Command(name = "set", description = "Replace parts of a policy: what is not given stays.")
  static final class Set extends EgressChange {
    @Option(names = "--allow", paramLabel = "RULE", description = "All that is allowed.")
    private @Nullable List<String> allow;

    @Option(names = "--deny", paramLabel = "HOST", description = "All that is denied.")
    private @Nullable List<String> deny;

    @Option(
        names = "--preset",
        paramLabel = "NAME",
        completionCandidates = Choices.Presets.class,
        description = "All presets.")
    private @Nullable List<String> presets;

    @Option(
        names = "--mode",
        paramLabel = "MODE",
        completionCandidates = Choices.Modes.class,
        description = "enforce or observe.")
    private @Nullable String mode;

    @Option(names = "--max-bytes", paramLabel = "N", description = "In all; 0 means no limit.")
    private @Nullable Long maxBytes;

    @Option(names = "--bytes-per-second", paramLabel = "N", description = "0 means no limit.")
    private @Nullable Long bytesPerSecond;

    Set(Session session) {
      super(session);
    }

    @Override
    NetworkPolicy change(NetworkPolicy now) {
      return new NetworkPolicy(
          mode == null ? now.mode() : mode,
          allow == null ? now.allow() : allow,
          deny == null ? now.deny() : deny,
          presets == null ? now.presets() : new TreeSet<>(presets),
          maxBytes == null ? now.maxBytes() : maxBytes,
          bytesPerSecond == null ? now.bytesPerSecond() : bytesPerSecond);
    }
  }
}
