package dev.carrel.cli;

import dev.carrel.sdk.ExecInfo;
import dev.carrel.sdk.ExecStream;
import dev.carrel.sdk.Sandbox;
import dev.carrel.sdk.TerminalLink;
import dev.carrel.sdk.TerminalOptions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel terminal …}: one class for each verb. */
@Command(
    name = "terminal",
    description = "Shells in sandboxes that can be left, joined again and shared.",
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel terminal open ID               Ctrl-] leaves it running",
      "  carrel terminal list ID",
      "  carrel terminal attach ID TERMINAL    go on with it",
      "  carrel terminal open --detach ID htop"
    })
final class TerminalCommand extends CommandGroup {

  @Command(
      name = "open",
      description = {
        "Open a shell in a sandbox, in this terminal.",
        "",
        "Ctrl-] leaves it running; so does closing the window."
      })
  static final class Open implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(
        index = "1..*",
        arity = "0..*",
        paramLabel = "COMMAND",
        parameterConsumer = CommandWords.class,
        description = "In place of a login shell; options behind its first word are its own.")
    private List<String> command = List.of();

    @Option(
        names = {"-d", "--detach"},
        description = "Leave it at once, and print its id.")
    private boolean detach;

    @Option(
        names = {"-w", "--workdir"},
        paramLabel = "DIR",
        description = "Directory to start in (default: /workspace).")
    private @Nullable String workdir;

    Open(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      boolean stay = !detach && !common.json();
      if (stay) {
        session
            .terminal()
            .require("--detach opens it and prints its id; 'carrel terminal attach' joins it");
      }
      var live = new LiveExec(session);
      try (Session.Connection server = session.connectToRunning()) {
        Sandbox sandbox = server.carrel().sandboxes().get(id);
        TerminalOptions options =
            command.isEmpty() ? TerminalOptions.shell() : TerminalOptions.of(command);
        if (workdir != null) {
          options = options.withCwd(workdir);
        }
        ExecInfo opened = sandbox.terminals().open(options.withSize(live.terminalSize()));
        if (stay) {
          return follow(session, sandbox, opened.id(), 0);
        }
        if (common.json()) {
          session.console().json(opened);
        } else {
          session.console().line(opened.id());
        }
      }
      return 0;
    }
  }

  @Command(name = "attach", description = "Go on with one, in this terminal. Ctrl-] leaves it.")
  static final class Attach implements Callable<Integer> {
    private final Session session;

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(index = "1", paramLabel = "TERMINAL", description = "Which.")
    private String terminal = "";

    @Option(
        names = "--from",
        paramLabel = "OFFSET",
        defaultValue = "0",
        description = "Byte of its output to begin with (${DEFAULT-VALUE}).")
    private long from;

    @Option(
        names = {"-h", "--help"},
        usageHelp = true,
        description = "Show this help.")
    private boolean help;

    Attach(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      if (help) {
        throw new IllegalStateException("picocli shows the help itself");
      }
      session.terminal().require("'carrel terminal link' gives a page or a program access to it");
      try (Session.Connection server = session.connectToRunning()) {
        return follow(session, server.carrel().sandboxes().get(id), terminal, from);
      }
    }
  }

  private static int follow(Session session, Sandbox sandbox, String terminal, long from) {
    var live = new LiveExec(session);
    String back = "carrel terminal attach " + sandbox.id() + " " + terminal;
    try (ExecStream screen = sandbox.terminals().attach(terminal, from)) {
      return live.followUntilLeft(
          screen,
          live.screen(),
          () -> session.console().note("left running; come back with: " + back));
    }
  }

  @Command(name = "list", aliases = "ls", description = "List a sandbox's terminals, newest first.")
  static final class ListAll implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    ListAll(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connectToRunning()) {
        List<ExecInfo> found = server.carrel().sandboxes().get(id).terminals().list();
        if (common.json()) {
          console.json(Map.of("terminals", found));
        } else if (found.isEmpty()) {
          console.note("no terminals; open one with: carrel terminal open " + id);
        } else {
          console.table(
              List.of("ID", "STATUS", "EXIT", "STARTED", "COMMAND"),
              found.stream().map(info -> row(console, info)).toList());
        }
      }
      return 0;
    }

    private static List<String> row(Console console, ExecInfo info) {
      return List.of(
          info.id(),
          info.status(),
          info.exitCode() == null ? "" : info.exitCode().toString(),
          Wording.time(info.startedAt()),
          console.safe(String.join(" ", info.command())));
    }
  }

  @Command(
      name = "link",
      description = {
        "Link to a terminal's WebSocket, for xterm.js and its like.",
        "",
        "Whoever has the link sees this one terminal until it expires."
      })
  static final class Link implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(index = "1", paramLabel = "TERMINAL", description = "Which.")
    private String terminal = "";

    @Option(names = "--write", description = "Let its holder type, too.")
    private boolean write;

    @Option(
        names = "--expires",
        paramLabel = "SECONDS",
        defaultValue = "3600",
        description = "How long the link is good (${DEFAULT-VALUE}; at most a week).")
    private long seconds;

    Link(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connectToRunning()) {
        Sandbox sandbox = server.carrel().sandboxes().get(id);
        TerminalLink link = sandbox.terminals().link(terminal, write, Duration.ofSeconds(seconds));
        if (common.json()) {
          session.console().json(link);
        } else {
          session.console().line(link.url());
        }
      }
      return 0;
    }
  }

  @Command(name = "end", description = "End one and all that runs in it.")
  static final class End implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
    private String id = "";

    @Parameters(index = "1", paramLabel = "TERMINAL", description = "Which.")
    private String terminal = "";

    End(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connectToRunning()) {
        server.carrel().sandboxes().get(id).terminals().end(terminal);
        if (common.json()) {
          session.console().json(Map.of("ended", terminal));
        } else {
          session.console().line(terminal);
        }
      }
      return 0;
    }
  }
}
