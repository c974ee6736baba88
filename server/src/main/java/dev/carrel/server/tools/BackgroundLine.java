package dev.carrel.server.tools;

import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Command;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A line of shell that goes on by itself. The guest keeps its output, but agents read files: it is
 * written to one.
 *
 * @param file where its output goes, of both streams
 */
public record BackgroundLine(long pid, String file, ExecId exec) {
  private static final String LOGS = ".logs/background_outputs";
  private static final String INTO_FILE =
      "mkdir -p \"${1%/*}\" && exec \"$0\" -c \"$2\" >\"$1\" 2>&1";

  /** Returns once it runs, or has ended. */
  public static BackgroundLine start(
      Execs execs, Caller caller, SandboxId id, String line, Setting setting)
      throws InterruptedException {
    // From the folder it runs in: an engine without isolation has the workspace elsewhere.
    String file = LOGS + "/bg_" + System.nanoTime() + ".log";
    ExecStart start =
        ExecStart.shell(
                shell ->
                    Command.of(shell, "-c", INTO_FILE, shell, file, line)
                        .withCwd(setting.folder)
                        .withEnvironment(setting.variables)
                        .withTimeout(setting.limit))
            .inBackground()
            .withSecrets(setting.secrets.toArray(String[]::new));
    try (ExecStream stream = execs.start(caller, id, start)) {
      long pid = stream.next() instanceof ExecEvent.Started started ? started.pid() : 0;
      return new BackgroundLine(pid, setting.path(file), stream.id());
    }
  }

  /**
   * What it runs in.
   *
   * @param folder null: the workspace
   * @param secrets names of those that it gets besides the sandbox's own
   */
  public record Setting(
      @Nullable String folder,
      Map<String, String> variables,
      Duration limit,
      List<String> secrets) {
    public Setting {
      variables = Map.copyOf(variables);
      secrets = List.copyOf(secrets);
    }

    public Setting(@Nullable String folder, Map<String, String> variables, Duration limit) {
      this(folder, variables, limit, List.of());
    }

    Setting withSecrets(String... newSecrets) {
      return new Setting(folder, variables, limit, List.of(newSecrets));
    }

    private String path(String file) {
      String from = folder == null ? Sandbox.WORKSPACE : folder;
      return from.endsWith("/") ? from + file : from + "/" + file;
    }
  }

  /** What an agent is told. */
  public String told() {
    return "Command started in background (PID: " + pid + ")";
  }
}
