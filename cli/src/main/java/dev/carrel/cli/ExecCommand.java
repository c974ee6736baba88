package dev.carrel.cli;

import dev.carrel.sdk.ExecInfo;
import dev.carrel.sdk.ExecOptions;
import dev.carrel.sdk.ExecStream;
import dev.carrel.sdk.Sandbox;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "exec",
    description = {
      "Run a command in a sandbox.",
      "",
      "Output appears as it is written, standard input passes, Ctrl-C interrupts the command"
          + " (twice: kills it), and the exit code is the command's."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel exec ID -- ls -l                 a program and its arguments",
      "  carrel exec ID -- sh -c 'ls | wc -l'    a line of shell",
      "  carrel exec -t ID -- bash               a terminal, as with ssh",
      "  tar c . | carrel exec ID -- tar x       standard input passes",
      "  carrel exec -d ID -- python3 -m http.server"
    })
final class ExecCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Option(
      names = {"-t", "--tty"},
      description = "Give the command this terminal.")
  private boolean tty;

  @Option(
      names = {"-d", "--detach"},
      description = "Start it, print its id and leave it running.")
  private boolean detach;

  @Option(
      names = {"-w", "--workdir"},
      paramLabel = "DIR",
      description = "Directory to start in (default: /workspace).")
  private @Nullable String workdir;

  @Option(
      names = {"-e", "--env"},
      paramLabel = "NAME=VALUE",
      description = "Set a variable; may be repeated.")
  private Map<String, String> env = Map.of();

  @Option(
      names = "--secret",
      paramLabel = "NAME",
      description = "Give the command this secret of the sandbox's namespace; may be repeated.")
  private List<String> secrets = List.of();

  @Option(
      names = "--artifact",
      paramLabel = "PATH",
      description =
          "Sign this file or folder when the command has ended, besides what it changed in"
              + " /workspace/outputs; may be repeated.")
  private List<String> artifacts = List.of();

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description = "Kill the whole process tree after this long.")
  private @Nullable Double timeout;

  @Option(
      names = "--key",
      paramLabel = "KEY",
      description = {
        "Your own name for this one command: called again with it, the same command is followed"
            + " and nothing runs twice. The command then survives a broken connection and this"
            + " program. Standard input does not pass."
      })
  private @Nullable String key;

  @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  @Parameters(
      index = "1..*",
      arity = "1..*",
      paramLabel = "COMMAND",
      parameterConsumer = CommandWords.class,
      description = "What to run; options behind its first word are its own.")
  private List<String> command = List.of();

  ExecCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    if (tty && !detach) {
      session.terminal().require("leave -t out");
    }
    var live = new LiveExec(session);
    try (Session.Connection server = session.connect()) {
      Sandbox sandbox = server.carrel().sandboxes().get(id);
      ExecOptions options = options(live);
      if (detach) {
        return detach(sandbox, options);
      }
      try (ExecStream exec = live.start(sandbox, options, timeout)) {
        if (tty) {
          return live.followInTerminal(exec, live.streams());
        }
        if (!common.json()) {
          return live.follow(exec, passesInput(), live.streams());
        }
        var collected = new CollectedExec();
        int code = live.follow(exec, passesInput(), collected);
        session.console().json(collected.json());
        return code;
      }
    }
  }

  private ExecOptions options(LiveExec live) {
    ExecOptions options =
        ExecOptions.of(command)
            .withEnv(env)
            .withSecrets(secrets)
            .withArtifacts(artifacts)
            .withStdinOpen(passesInput())
            .withBackground(detach)
            .withIdempotencyKey(key);
    if (workdir != null) {
      options = options.withCwd(workdir);
    }
    return tty ? options.withTerminal(live.terminalSize()) : options;
  }

  // To send it twice to one command would be worse than not at all.
  private boolean passesInput() {
    return !detach && key == null;
  }

  private int detach(Sandbox sandbox, ExecOptions options) {
    ExecInfo started =
        sandbox.execBackground(
            timeout == null
                ? options
                : options.withTimeout(Duration.ofMillis(Math.round(timeout * 1000))));
    if (common.json()) {
      session.console().json(started);
    } else {
      session.console().line(started.id());
    }
    return 0;
  }
}
