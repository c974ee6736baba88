package dev.carrel.cli;

import dev.carrel.sdk.CarrelException;
import dev.carrel.sdk.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.RunLast;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command line as a function: arguments in, exit code out. */
public final class Cli {
  /** Carrel itself failed, as opposed to the program that it ran. */
  public static final int FAILED = 125;

  static final int USAGE = 2;
  static final int INTERRUPTED = 130;

  /** As a program in a pipe ends whose reader is gone. */
  private static final int BROKEN_PIPE = 141;

  private static final String COMPLETION = "completion";

  /** What every terminal has; the same also where the help goes elsewhere. */
  private static final int HELP_WIDTH = 80;

  // As their annotations say, which are not read for a command that is not called.
  private static final Map<String, String> ALIASES =
      Map.of("session", "sandbox", "config", "settings");

  private final Host host;
  private final InputStream in;
  private final PrintStream out;
  private final PrintStream err;

  public Cli(Host host, InputStream in, PrintStream out, PrintStream err) {
    this.host = host;
    this.in = in;
    this.out = out;
    this.err = err;
  }

  public int run(List<String> given) {
    List<String> arguments = named(given);
    var terminal = new Terminal();
    var console = new Console(out, err, terminal, host.colours());
    var session = new Session(host, console, terminal, in);
    CommandLine carrel = commandLine(session, arguments);
    if (asksForHelp(given)) {
      Optional<ParameterException> unknown = unknown(carrel, arguments);
      if (unknown.isPresent()) {
        return usageError(console, unknown.get());
      }
    }
    return carrel.execute(arguments.toArray(String[]::new));
  }

  private static boolean asksForHelp(List<String> given) {
    return !given.isEmpty() && given.getFirst().equals("help");
  }

  /** Words that name no command: also those that would be the program's. */
  private static Optional<ParameterException> unknown(CommandLine carrel, List<String> words) {
    CommandLine at = carrel;
    for (String word : words) {
      if (word.startsWith("-")) {
        break;
      }
      CommandLine next = at.getSubcommands().get(word);
      if (next == null) {
        return Optional.of(new UnmatchedArgumentException(at, List.of(word)));
      }
      at = next;
    }
    return Optional.empty();
  }

  /** {@code help run} is {@code run --help}, as elsewhere. */
  private static List<String> named(List<String> given) {
    return asksForHelp(given)
        ? Stream.concat(given.stream().dropWhile("help"::equals), Stream.of("--help")).toList()
        : given;
  }

  private CommandLine commandLine(Session session, List<String> arguments) {
    boolean colours = host.colours() && session.terminal().isTerminal(1);
    CommandLine carrel = new CommandLine(new RootCommand());
    carrel
        .getCommandSpec()
        .version(VersionCommand.line(host))
        .addOption(
            OptionSpec.builder("--version")
                .versionHelp(true)
                .description("Print the version.")
                .build());
    needed(session, arguments).values().forEach(command -> carrel.addSubcommand(command.get()));
    return carrel
        .setOut(new PrintWriter(out, true, StandardCharsets.UTF_8))
        .setErr(new PrintWriter(err, true, StandardCharsets.UTF_8))
        .setColorScheme(CommandLine.Help.defaultColorScheme(colours ? Ansi.ON : Ansi.OFF))
        .setUsageHelpWidth(HELP_WIDTH)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setExpandAtFiles(false)
        .setParameterExceptionHandler((e, given) -> usageError(session.console(), e))
        .setExecutionStrategy(parsed -> execute(session.console(), parsed))
        .setExecutionExceptionHandler(
            (e, command, result) -> failure(session.console(), command, e));
  }

  /** With {@code --help} beside them picocli leaves words alone that are nothing to it. */
  private static int execute(Console console, ParseResult parsed) {
    ParseResult last = parsed;
    while (last.hasSubcommand()) {
      last = last.subcommand();
    }
    return last.unmatched().isEmpty()
        ? new RunLast().execute(parsed)
        : usageError(
            console,
            new UnmatchedArgumentException(last.commandSpec().commandLine(), last.unmatched()));
  }

  /**
   * The command that is called, or all of them where they are shown or searched. Reading the
   * annotations of all takes picocli longer than many a command runs.
   */
  private Map<String, Supplier<Object>> needed(Session session, List<String> arguments) {
    Map<String, Supplier<Object>> all = commands(session);
    String name = arguments.isEmpty() ? "" : arguments.getFirst();
    Supplier<Object> called = all.get(ALIASES.getOrDefault(name, name));
    return called == null || name.equals(COMPLETION) ? all : Map.of(name, called);
  }

  // In the order in which a newcomer wants to read them.
  private Map<String, Supplier<Object>> commands(Session session) {
    var commands = new LinkedHashMap<String, Supplier<Object>>();
    commands.put("run", () -> run(session));
    commands.put("serve", () -> new ServeCommand(session));
    commands.put("mcp", () -> mcp(session));
    commands.put("sandbox", () -> sandbox(session));
    commands.put("exec", () -> new ExecCommand(session));
    commands.put("code", () -> new CodeCommand(session));
    commands.put("open", () -> new OpenCommand(session));
    commands.put("terminal", () -> terminal(session));
    commands.put("install", () -> new InstallCommand(session));
    commands.put("validate", () -> new ValidateCommand(session));
    commands.put("files", () -> files(session));
    commands.put("bridge", () -> new BridgeCommand(session));
    commands.put("import", () -> new ImportCommand(session));
    commands.put("export", () -> new ExportCommand(session));
    commands.put("artifacts", () -> new ArtifactsCommand(session));
    commands.put("verify", () -> new VerifyCommand(session));
    commands.put("skills", () -> SkillsCommand.line(session));
    commands.put("snapshot", () -> snapshot(session));
    commands.put("images", () -> images(session));
    commands.put("volume", () -> volume(session));
    commands.put("egress", () -> egress(session));
    commands.put("vault", () -> vault(session));
    commands.put("keys", () -> KeysCommand.line(session));
    commands.put("web", () -> web(session));
    commands.put("host", () -> HostCommand.line(session));
    commands.put("pool", () -> new PoolCommand(session));
    commands.put("top", () -> new TopCommand(session));
    commands.put("stats", () -> new StatsCommand(session));
    commands.put("inspect", () -> new InspectCommand(session));
    commands.put("activity", () -> new ActivityCommand(session));
    commands.put("queue", () -> new QueueCommand(session));
    commands.put("approvals", () -> approvals(session));
    commands.put("limits", () -> limits(session));
    commands.put("settings", () -> new SettingsCommand(session));
    commands.put("events", () -> new EventsCommand(session));
    commands.put("audit", () -> new AuditCommand(session));
    commands.put("doctor", () -> new DoctorCommand(session));
    commands.putAll(host.furtherCommands());
    commands.put(COMPLETION, () -> new CompletionCommand(session));
    commands.put("version", () -> new VersionCommand(session));
    return commands;
  }

  // Options behind the program are the program's.
  private static CommandLine run(Session session) {
    return new CommandLine(new RunCommand(session)).setStopAtPositional(true);
  }

  private static CommandLine mcp(Session session) {
    return new CommandLine(new McpCommand(session)).addSubcommand(new McpCommand.Install(session));
  }

  private static CommandLine sandbox(Session session) {
    return new CommandLine(new SandboxCommand())
        .addSubcommand(new SandboxCommand.Create(session))
        .addSubcommand(new SandboxCommand.ListAll(session))
        .addSubcommand(new SandboxCommand.Show(session))
        .addSubcommand(new SandboxChange.Start(session))
        .addSubcommand(new SandboxChange.Stop(session))
        .addSubcommand(new SandboxChange.Pause(session))
        .addSubcommand(new SandboxChange.Resume(session))
        .addSubcommand(new SandboxChange.Fork(session))
        .addSubcommand(new SandboxCommand.Delete(session));
  }

  private static CommandLine approvals(Session session) {
    return new CommandLine(new ApprovalsCommand())
        .addSubcommand(new ApprovalsCommand.ListAll(session))
        .addSubcommand(new ApprovalsCommand.Ask(session))
        .addSubcommand(new ApprovalsCommand.Approve(session))
        .addSubcommand(new ApprovalsCommand.Deny(session))
        .addSubcommand(new ApprovalsCommand.Revoke(session));
  }

  private static CommandLine limits(Session session) {
    return new CommandLine(new LimitsCommand(session))
        .addSubcommand(new LimitsCommand.Budget(session));
  }

  private static CommandLine terminal(Session session) {
    return new CommandLine(new TerminalCommand())
        .addSubcommand(new TerminalCommand.Open(session))
        .addSubcommand(new TerminalCommand.Attach(session))
        .addSubcommand(new TerminalCommand.ListAll(session))
        .addSubcommand(new TerminalCommand.Link(session))
        .addSubcommand(new TerminalCommand.End(session));
  }

  private static CommandLine snapshot(Session session) {
    return new CommandLine(new SnapshotCommand())
        .addSubcommand(new SnapshotCommand.Create(session))
        .addSubcommand(new SnapshotCommand.ListAll(session))
        .addSubcommand(new SnapshotCommand.Restore(session))
        .addSubcommand(new SnapshotCommand.Delete(session));
  }

  private static CommandLine images(Session session) {
    return new CommandLine(new ImagesCommand())
        .addSubcommand(new ImagesCommand.ListAll(session))
        .addSubcommand(new ImagesCommand.Show(session))
        .addSubcommand(new ImagesWork.Build(session))
        .addSubcommand(new ImagesCommand.Lock(session))
        .addSubcommand(new ImagesWork.Pull(session))
        .addSubcommand(new ImagesWork.Commit(session))
        .addSubcommand(new ImagesCommand.Import(session))
        .addSubcommand(new ImagesCommand.Export(session))
        .addSubcommand(new ImagesCommand.Log(session))
        .addSubcommand(new ImagesCommand.Remove(session))
        .addSubcommand(new ImagesCommand.Prune(session));
  }

  private static CommandLine volume(Session session) {
    return new CommandLine(new VolumeCommand())
        .addSubcommand(new VolumeCommand.Create(session))
        .addSubcommand(new VolumeCommand.ListAll(session))
        .addSubcommand(new VolumeCommand.Delete(session));
  }

  private static CommandLine egress(Session session) {
    return new CommandLine(new EgressCommand(session))
        .addSubcommand(new EgressCommand.Show(session))
        .addSubcommand(new EgressChange.Allow(session))
        .addSubcommand(new EgressChange.Deny(session))
        .addSubcommand(new EgressChange.Remove(session))
        .addSubcommand(new EgressChange.Set(session))
        .addSubcommand(new EgressCommand.Decisions(session))
        .addSubcommand(new EgressCommand.Presets(session))
        .addSubcommand(new EgressCommand.Token(session));
  }

  private static CommandLine web(Session session) {
    return new CommandLine(new WebCommand())
        .addSubcommand(new WebCommand.Fetch(session))
        .addSubcommand(new WebCommand.Search(session));
  }

  private static CommandLine vault(Session session) {
    return new CommandLine(new VaultCommand())
        .addSubcommand(new VaultCommand.Add(session))
        .addSubcommand(new VaultCommand.ListAll(session))
        .addSubcommand(new VaultCommand.Rotate(session))
        .addSubcommand(new VaultCommand.Delete(session));
  }

  private static CommandLine files(Session session) {
    return new CommandLine(new FilesCommand())
        .addSubcommand(new FilesCommand.Ls(session))
        .addSubcommand(new FilesCommand.Get(session))
        .addSubcommand(new FilesCommand.Put(session))
        .addSubcommand(new FilesEdit(session))
        .addSubcommand(new FilesCommand.Rm(session))
        .addSubcommand(new FilesSearch.Glob(session))
        .addSubcommand(new FilesSearch.Grep(session));
  }

  private static int usageError(Console console, ParameterException e) {
    console.error(Wording.of(e));
    CommandLine command = e.getCommandLine();
    if (e instanceof UnmatchedArgumentException unmatched) {
      Wording.meant(unmatched).ifPresent(console::hint);
    }
    console.hint("see " + command.getCommandSpec().qualifiedName() + " --help");
    return USAGE;
  }

  private static int failure(Console console, CommandLine command, Exception e) {
    if (AtExit.begun()) {
      // What fails now fails because its connection was closed; why is known to who ended it.
      return INTERRUPTED;
    }
    switch (e) {
      case Console.OutputLost _ -> {
        return BROKEN_PIPE;
      }
      case CommandFailure failure -> {
        console.error(String.valueOf(failure.getMessage()));
        failure.hint().ifPresent(console::hint);
        return failure.code();
      }
      case CarrelException failure -> {
        console.error(Wording.of(failure, command));
        hint(failure).ifPresent(console::hint);
        if (failure.code() == ErrorCode.INVALID_INPUT) {
          // A value that was typed, whether it is refused here or by the server.
          return USAGE;
        }
      }
      case IOException failure -> console.error(describe(failure));
      case UncheckedIOException failure -> console.error(describe(failure));
      default -> {
        console.error("this is a bug in Carrel; please report it with what follows");
        e.printStackTrace(console.err());
      }
    }
    return FAILED;
  }

  static Optional<String> hint(CarrelException failure) {
    // The server's hint there is for who writes requests.
    return failure.code() == ErrorCode.UNAUTHENTICATED
        ? Optional.of(
            "set CARREL_TOKEN to a token of this server: its own is in the file 'token' of its data"
                + " directory, and its owner makes others with 'carrel keys create'")
        : failure.hint().or(() -> nextStep(failure));
  }

  /** For failures of which only the command line knows what to do. */
  private static Optional<String> nextStep(CarrelException failure) {
    return switch (failure.code()) {
      case SANDBOX_NOT_FOUND -> Optional.of("'carrel sandbox list' shows what there is");
      case UNREACHABLE ->
          Optional.of(
              distrusted(failure)
                  ? "its certificate is for another name, or not trusted here: set CARREL_URL to"
                      + " https:// and a name of the certificate, and CARREL_TOKEN"
                  : "see whether a server runs there; CARREL_URL says where it is looked for");
      default -> Optional.empty();
    };
  }

  private static boolean distrusted(CarrelException failure) {
    for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException) {
        return true;
      }
    }
    return false;
  }

  static String describe(Exception e) {
    // The message of a file system's exception is the path alone.
    return e instanceof FileSystemException file
        ? file.getFile() + ": " + (file.getReason() == null ? kind(file) : file.getReason())
        : String.valueOf(e.getMessage());
  }

  private static String kind(FileSystemException e) {
    return switch (e) {
      case NoSuchFileException _ -> "no such file";
      case AccessDeniedException _ -> "permission denied";
      default -> e.getClass().getSimpleName();
    };
  }
}
