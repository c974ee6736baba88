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
                    .withTimeout(setting.limit));
    try (ExecStream stream = execs.start(caller, id, start.inBackground())) {
      long pid = stream.next() instanceof ExecEvent.Started started ? started.pid() : 0;
      return new BackgroundLine(pid, setting.path(file), stream.id());
    }
  }

  /**
   * What it runs in.
   *
   * @param folder null: the workspace
   */
  public record Setting(@Nullable String folder, Map<String, String> variables, Duration limit) {
    public Setting {
      variables = Map.copyOf(variables);
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
