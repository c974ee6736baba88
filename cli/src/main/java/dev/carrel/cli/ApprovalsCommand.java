package dev.carrel.cli;

import dev.carrel.sdk.ApprovalInfo;
import dev.carrel.sdk.Approvals;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel approvals …}: one class for each verb. */
@Command(
    name = "approvals",
    description = "Show and decide what somebody asked a person to allow.",
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel approvals list",
      "  carrel approvals approve ap1a2b3c --for 1h",
      "  carrel approvals ask sb1a2b3c api.example.com --reason 'the weather' --wait"
    })
final class ApprovalsCommand extends CommandGroup {
  private static final int WAIT_SECONDS = 60;
  private static final Map<Character, Long> UNITS =
      Map.of('s', 1L, 'm', 60L, 'h', 3600L, 'd', 86_400L);

  @Command(name = "list", aliases = "ls", description = "List requests, those that wait first.")
  static final class ListAll implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Option(
        names = "--status",
        paramLabel = "STATUS",
        description = "Only pending, approved, denied, expired, withdrawn or used ones.")
    private @Nullable String status;

    ListAll(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        List<ApprovalInfo> found = server.carrel().approvals().list(status);
        if (common.json()) {
          console.json(Map.of("approvals", found));
        } else if (found.isEmpty()) {
          console.note("nobody asked for anything");
        } else {
          print(console, found);
        }
      }
      return 0;
    }
  }

  @Command(name = "ask", description = "Ask that a sandbox may reach a host.")
  static final class Ask implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(index = "1", paramLabel = "HOST", description = "As in a policy.")
    private String host = "";

    @Option(names = "--scope", paramLabel = "SCOPE", description = "once, sandbox or namespace.")
    private String scope = "sandbox";

    @Option(names = "--reason", paramLabel = "TEXT", description = "What it is needed for.")
    private String reason = "";

    @Option(names = "--wait", description = "Wait until it is decided.")
    private boolean wait;

    Ask(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect(wait)) {
        Approvals approvals = server.carrel().approvals();
        ApprovalInfo asked =
            approvals.ask(
                Map.of("sandbox_id", id, "subject", host, "scope", scope, "reason", reason));
        if (wait) {
          asked = decided(session.console(), approvals, asked);
        }
        show(session.console(), common.json(), asked);
        return asked.status().equals("approved") || !wait ? 0 : 1;
      }
    }
  }

  @Command(name = "approve", description = "Allow it; for administrators.")
  static final class Approve implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "APPROVAL", description = "The request.")
    private String id = "";

    @Option(
        names = "--scope",
        paramLabel = "SCOPE",
        description = "once, sandbox or namespace, instead of the one that was asked for.")
    private @Nullable String scope;

    @Option(
        names = "--for",
        paramLabel = "TIME",
        description = "How long it holds, such as 30m, 8h or 7d.")
    private @Nullable String time;

    @Option(names = "--note", paramLabel = "TEXT", description = "A word with it.")
    private String note = "";

    Approve(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Long seconds = time == null ? null : seconds(time);
      try (Session.Connection server = session.connect()) {
        show(
            session.console(),
            common.json(),
            server.carrel().approvals().approve(id, scope, seconds, note));
      }
      return 0;
    }
  }

  @Command(name = "deny", description = "Refuse it; for administrators.")
  static final class Deny implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "APPROVAL", description = "The request.")
    private String id = "";

    @Option(names = "--note", paramLabel = "TEXT", description = "A word with it.")
    private String note = "";

    Deny(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        show(session.console(), common.json(), server.carrel().approvals().deny(id, note));
      }
      return 0;
    }
  }

  @Command(
      name = "revoke",
      aliases = "withdraw",
      description = "Take a request back, or what was granted.")
  static final class Revoke implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "APPROVAL", description = "The request.")
    private String id = "";

    Revoke(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        show(session.console(), common.json(), server.carrel().approvals().withdraw(id));
      }
      return 0;
    }
  }

  static long seconds(String text) {
    Long unit = text.isEmpty() ? null : UNITS.get(text.charAt(text.length() - 1));
    String number = unit == null ? text : text.substring(0, text.length() - 1);
    if (!number.matches("[0-9]{1,6}")) {
      throw CommandFailure.usage("'" + text + "' is not a time such as 30m, 8h or 7d");
    }
    return Long.parseLong(number) * (unit == null ? 1 : unit);
  }

  /** Waits until a person, who has to be told which it is, has decided. */
  static ApprovalInfo decided(Console console, Approvals approvals, ApprovalInfo asked) {
    ApprovalInfo now = asked;
    if (now.status().equals("pending")) {
      console.note("waiting; to decide: carrel approvals approve (or deny) " + now.id());
    }
    while (now.status().equals("pending")) {
      now = approvals.await(now.id(), WAIT_SECONDS);
    }
    return now;
  }

  static void show(Console console, boolean json, ApprovalInfo approval) {
    if (json) {
      console.json(approval);
    } else {
      print(console, List.of(approval));
    }
  }

  private static void print(Console console, List<ApprovalInfo> approvals) {
    var rows = new ArrayList<List<String>>();
    for (boolean waiting : new boolean[] {true, false}) {
      for (ApprovalInfo approval : approvals) {
        if (approval.status().equals("pending") == waiting) {
          rows.add(
              List.of(
                  approval.id(),
                  approval.status(),
                  approval.kind(),
                  console.safe(approval.subject()),
                  approval.scope(),
                  approval.sandboxId() == null ? approval.namespace() : approval.sandboxId(),
                  console.safe(approval.requester()),
                  console.safe(approval.reason().replaceAll("\\s+", " "))));
        }
      }
    }
    console.table(
        List.of("APPROVAL", "STATUS", "KIND", "SUBJECT", "SCOPE", "FOR", "BY", "REASON"), rows);
  }
}
