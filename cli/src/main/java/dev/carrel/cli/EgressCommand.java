package dev.carrel.cli;

import dev.carrel.sdk.ApprovalInfo;
import dev.carrel.sdk.Approvals;
import dev.carrel.sdk.EgressAccess;
import dev.carrel.sdk.EgressDecision;
import dev.carrel.sdk.EgressInfo;
import dev.carrel.sdk.NetworkPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** {@code carrel egress …}: what sandboxes may reach and have tried to. */
@Command(
    name = "egress",
    description = {
      "Show and change what sandboxes may reach.",
      "",
      "With a host and no command: ask a person to let a namespace's sandboxes reach it."
    },
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel egress allow sb1a2b3c example.com '*.example.org' db.example.com:5432",
      "  carrel egress set sb1a2b3c --preset packages --max-bytes 100000000",
      "  carrel egress decisions sb1a2b3c",
      "  carrel egress example.com --namespace lab --wait"
    })
final class EgressCommand implements Callable<Integer> {
  private final Session session;
  @Spec private @Nullable CommandSpec spec;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(arity = "0..1", paramLabel = "HOST", description = "Ask for it, as in a policy.")
  private @Nullable String host;

  @Option(
      names = "--namespace",
      paramLabel = "NAME",
      description = "Whose sandboxes, when a host is asked for (default: default).")
  private @Nullable String namespace;

  @Option(names = "--reason", paramLabel = "TEXT", description = "What it is needed for.")
  private String reason = "";

  @Option(names = "--wait", description = "Wait until it is decided.")
  private boolean wait;

  EgressCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    if (host == null || spec == null) {
      throw CommandGroup.which(spec);
    }
    if (namespace == null && !host.contains(".")) {
      throw unsaid(spec.commandLine(), host);
    }
    try (Session.Connection server = session.connect(wait)) {
      Approvals approvals = server.carrel().approvals();
      ApprovalInfo asked =
          approvals.ask(
              Map.of(
                  "namespace",
                  namespace == null ? "default" : namespace,
                  "subject",
                  host,
                  "scope",
                  "namespace",
                  "reason",
                  reason));
      if (wait) {
        asked = ApprovalsCommand.decided(session.console(), approvals, asked);
      }
      ApprovalsCommand.show(session.console(), common.json(), asked);
      return asked.status().equals("approved") || !wait ? 0 : 1;
    }
  }

  /** A command that is mistyped must not become a request for a host of that name. */
  private static ParameterException unsaid(CommandLine egress, String host) {
    String say = "to ask for a host, say whose sandboxes with --namespace";
    String meant =
        Wording.meant(new UnmatchedArgumentException(egress, List.of(host)))
            .map(text -> " (" + text + ")")
            .orElse("");
    return new ParameterException(egress, Wording.noCommand(host) + meant + "; " + say);
  }

  @Command(name = "show", description = "Show a sandbox's policy and what went through.")
  static final class Show implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Option(
        names = "--draft",
        description = "Show the least policy that allows what passed lately.")
    private boolean draft;

    Show(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        EgressInfo info = server.carrel().sandboxes().get(id).egress().get();
        if (draft && common.json()) {
          console.json(info.draft());
        } else if (draft) {
          print(console, info.draft());
        } else {
          print(console, common.json(), info);
        }
      }
      return 0;
    }
  }

  static void print(Console console, boolean json, EgressInfo info) {
    if (json) {
      console.json(info);
      return;
    }
    print(console, info.policy());
    info.granted()
        .forEach(rule -> console.line("%-8s %s".formatted("granted", console.safe(rule))));
    console.line(
        "%-8s %,d bytes out, %,d bytes in"
            .formatted("used", info.sentBytes(), info.receivedBytes()));
  }

  private static void print(Console console, NetworkPolicy policy) {
    boolean shut = policy.allow().isEmpty() && policy.presets().isEmpty();
    console.line("%-8s %s".formatted("mode", policy.mode()));
    new TreeSet<>(policy.presets())
        .forEach(preset -> console.line("%-8s %s".formatted("preset", console.safe(preset))));
    policy.allow().forEach(rule -> console.line("%-8s %s".formatted("allow", console.safe(rule))));
    policy.deny().forEach(host -> console.line("%-8s %s".formatted("deny", console.safe(host))));
    if (policy.maxBytes() > 0) {
      console.line("%-8s %,d bytes".formatted("budget", policy.maxBytes()));
    }
    if (policy.bytesPerSecond() > 0) {
      console.line("%-8s %,d bytes a second".formatted("pace", policy.bytesPerSecond()));
    }
    if (shut && policy.mode().equals("enforce")) {
      console.note("nothing is allowed; see carrel egress allow --help");
    }
  }

  @Command(
      name = "decisions",
      description = "Show what a sandbox reached and what was refused, latest first.")
  static final class Decisions implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    Decisions(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        List<EgressDecision> decisions = server.carrel().sandboxes().get(id).egress().decisions();
        if (common.json()) {
          console.json(decisions);
        } else if (decisions.isEmpty()) {
          console.note("it has not tried to reach anything since it was started");
        } else {
          show(console, decisions);
        }
      }
      return 0;
    }

    private static void show(Console console, List<EgressDecision> decisions) {
      var rows = new ArrayList<List<String>>();
      for (EgressDecision decision : decisions) {
        rows.add(
            List.of(
                decision.outcome(),
                decision.protocol(),
                console.safe(decision.host()) + (decision.port() == 0 ? "" : ":" + decision.port()),
                Long.toString(decision.count()),
                decision.reason() == null ? "" : decision.reason(),
                decision.rule() == null
                    ? console.safe(decision.detail())
                    : console.safe(decision.rule())));
      }
      console.table(List.of("OUTCOME", "BY", "HOST", "COUNT", "REASON", "RULE"), rows);
    }
  }

  @Command(
      name = "token",
      description = "Print a proxy address by which others use the network as a sandbox does.",
      footerHeading = "%nExamples:%n",
      footer = {"  https_proxy=$(carrel egress token sb1a2b3c --host example.com) curl …"})
  static final class Token implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Option(
        names = "--host",
        paramLabel = "HOST",
        description = "Only for this host, within the policy; may be repeated.")
    private List<String> hosts = new ArrayList<>();

    @Option(
        names = "--seconds",
        paramLabel = "N",
        defaultValue = "3600",
        description = "How long it is good for (default: ${DEFAULT-VALUE}, at most 14400).")
    private long seconds;

    Token(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connectToRunning()) {
        EgressAccess access =
            server.carrel().sandboxes().get(id).egress().access(hosts, Duration.ofSeconds(seconds));
        if (common.json()) {
          console.json(access);
        } else {
          console.line(access.proxyUrl());
          console.note("good until " + access.expiresAt());
        }
      }
      return 0;
    }
  }

  @Command(name = "presets", description = "Show the sets of hosts that a policy can name.")
  static final class Presets implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    Presets(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        Map<String, List<String>> presets = server.carrel().egressPresets();
        if (common.json()) {
          console.json(presets);
          return 0;
        }
        var rows = new ArrayList<List<String>>();
        presets.forEach(
            (name, rules) -> rules.forEach(rule -> rows.add(List.of(name, console.safe(rule)))));
        console.table(List.of("PRESET", "ALLOWS"), rows);
      }
      return 0;
    }
  }
}
