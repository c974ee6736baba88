package dev.carrel.cli;

import dev.carrel.sdk.ApprovalInfo;
import dev.carrel.sdk.HostAccess;
import dev.carrel.sdk.HostContent;
import dev.carrel.sdk.HostEntry;
import dev.carrel.sdk.HostResult;
import dev.carrel.sdk.HostWritten;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel host …}: one class for each verb. */
@Command(
    name = "host",
    description = "Use the machine outside of the sandboxes, as far as it is lent out.",
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel host access list",
      "  carrel host access request --reason 'new version' -- systemctl restart app",
      "  carrel host exec -- uname -a"
    })
final class HostCommand extends CommandGroup {

  static CommandLine line(Session session) {
    return new CommandLine(new HostCommand())
        .addSubcommand(new Exec(session))
        .addSubcommand(new Read(session))
        .addSubcommand(new Write(session))
        .addSubcommand(new ListFolder(session))
        .addSubcommand(new Copy(session))
        .addSubcommand(
            new CommandLine(new Access())
                .addSubcommand(new AccessList(session))
                .addSubcommand(new AccessRequest(session)));
  }

  @Command(
      name = "exec",
      description = "Run a command on the host, without a shell.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  carrel host exec uname -a",
        "  carrel host exec --cwd /srv/site git pull",
        "  carrel host access request git pull --wait     ask a person first"
      })
  static final class Exec implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(arity = "1..*", paramLabel = "WORD", description = "The program and its arguments.")
    private List<String> words = List.of();

    @Option(names = "--cwd", paramLabel = "PATH", description = "Where, in a folder lent out.")
    private @Nullable String folder;

    @Option(names = "--timeout", paramLabel = "SECONDS", description = "How long at most.")
    private @Nullable Integer timeout;

    @Option(names = "--sandbox", paramLabel = "ID", description = "For which sandbox.")
    private @Nullable String sandbox;

    @Option(names = "--namespace", paramLabel = "NAME", description = "In which namespace.")
    private @Nullable String namespace;

    Exec(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      var options = new HashMap<String, Object>();
      put(options, "cwd", folder);
      put(options, "timeout_seconds", timeout);
      put(options, "sandbox_id", sandbox);
      put(options, "namespace", namespace);
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        HostResult result = server.carrel().host().exec(words, options);
        if (common.json()) {
          console.json(result);
          return result.exitCode();
        }
        print(console, result);
        return result.exitCode();
      }
    }

    private static void print(Console console, HostResult result) {
      if (!result.stdout().isEmpty()) {
        console.line(console.safeLines(result.stdout().stripTrailing()));
      }
      if (!result.stderr().isEmpty()) {
        console.note(result.stderr().stripTrailing());
      }
      if (result.timedOut()) {
        console.note("it was killed after " + result.durationMs() + " ms");
      }
      if (result.truncated()) {
        console.note("there was more output than is shown");
      }
    }
  }

  private static void put(Map<String, Object> options, String name, @Nullable Object value) {
    if (value != null) {
      options.put(name, value);
    }
  }

  @Command(name = "read", description = "Print a file of the host.")
  static final class Read implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "PATH", description = "From / on.")
    private String path = "";

    @Option(names = "--offset", paramLabel = "N", description = "First byte.")
    private long offset;

    @Option(names = "--limit", paramLabel = "N", description = "Bytes, a mebibyte if not given.")
    private @Nullable Integer limit;

    Read(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        HostContent content = server.carrel().host().read(path, offset, limit, false);
        if (common.json()) {
          console.json(content);
        } else {
          console.line(console.safeLines(content.content().stripTrailing()));
          if (content.truncated()) {
            console.note("there is more after this: the file has " + content.size() + " bytes");
          }
        }
      }
      return 0;
    }
  }

  @Command(name = "write", description = "Write a file of the host.")
  static final class Write implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "PATH", description = "From / on.")
    private String path = "";

    @Parameters(
        index = "1",
        arity = "0..1",
        paramLabel = "FILE",
        description = "What to write; from standard input if not given.")
    private @Nullable Path file;

    Write(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      byte[] content = file == null ? session.in().readAllBytes() : Files.readAllBytes(file);
      try (Session.Connection server = session.connect()) {
        show(
            session.console(),
            common.json(),
            server.carrel().host().write(path, Base64.getEncoder().encodeToString(content), true));
      }
      return 0;
    }
  }

  @Command(name = "copy", aliases = "cp", description = "Copy a file of the host.")
  static final class Copy implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "FROM", description = "From / on.")
    private String from = "";

    @Parameters(index = "1", paramLabel = "TO", description = "From / on.")
    private String to = "";

    Copy(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        show(session.console(), common.json(), server.carrel().host().copy(from, to));
      }
      return 0;
    }
  }

  private static void show(Console console, boolean json, HostWritten written) {
    if (json) {
      console.json(written);
    } else {
      console.line(console.safe(written.path()) + "  " + written.size() + " bytes");
    }
  }

  @Command(name = "list", aliases = "ls", description = "List a folder of the host.")
  static final class ListFolder implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "PATH", description = "From / on.")
    private String path = "";

    ListFolder(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        List<HostEntry> found = server.carrel().host().list(path);
        if (common.json()) {
          console.json(Map.of("files", found));
          return 0;
        }
        var rows = new ArrayList<List<String>>();
        for (HostEntry entry : found) {
          rows.add(
              List.of(
                  console.safe(entry.name()),
                  entry.kind(),
                  Long.toString(entry.size()),
                  entry.modifiedAt()));
        }
        console.table(List.of("NAME", "KIND", "BYTES", "MODIFIED"), rows);
      }
      return 0;
    }
  }

  @Command(
      name = "access",
      description = "Show what is allowed, and ask for more.",
      synopsisSubcommandLabel = "COMMAND")
  static final class Access extends CommandGroup {}

  @Command(name = "list", aliases = "ls", description = "Show what is allowed and blocked.")
  static final class AccessList implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    AccessList(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        HostAccess access = server.carrel().host().access();
        if (common.json()) {
          console.json(access);
          return 0;
        }
        var rows = new ArrayList<List<String>>();
        access.alwaysAllowed().forEach(pattern -> rows.add(List.of("allowed", pattern, "")));
        access.blocked().forEach(pattern -> rows.add(List.of("blocked", pattern, "")));
        access.folders().forEach(folder -> rows.add(List.of("read", folder, "")));
        access.writableFolders().forEach(folder -> rows.add(List.of("write", folder, "")));
        for (ApprovalInfo approval : access.approvals()) {
          rows.add(List.of(approval.status(), console.safe(approval.subject()), approval.id()));
        }
        console.table(List.of("RULE", "WHAT", "APPROVAL"), rows);
      }
      return 0;
    }
  }

  @Command(name = "request", description = "Ask a person to allow a command.")
  static final class AccessRequest implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(
        arity = "1..*",
        paramLabel = "WORD",
        description = "The command; * stands for one word, ** for the rest.")
    private List<String> words = List.of();

    @Option(names = "--scope", paramLabel = "SCOPE", description = "once, sandbox or namespace.")
    private String scope = "once";

    @Option(names = "--sandbox", paramLabel = "ID", description = "For which sandbox.")
    private @Nullable String sandbox;

    @Option(names = "--reason", paramLabel = "TEXT", description = "What it is needed for.")
    private String reason = "";

    @Option(names = "--wait", description = "Wait until it is decided.")
    private boolean wait;

    AccessRequest(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect(wait)) {
        ApprovalInfo asked =
            server.carrel().host().ask(String.join(" ", words), scope, sandbox, reason);
        if (wait) {
          asked = ApprovalsCommand.decided(session.console(), server.carrel().approvals(), asked);
        }
        ApprovalsCommand.show(session.console(), common.json(), asked);
        return asked.status().equals("approved") || !wait ? 0 : 1;
      }
    }
  }
}
