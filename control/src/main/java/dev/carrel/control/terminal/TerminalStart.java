package dev.carrel.control.terminal;

import dev.carrel.control.exec.ExecStart;
import dev.carrel.spi.Command;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A terminal to open.
 *
 * @param command empty: a login shell
 * @param cwd null: /workspace
 * @param secrets names of those that it gets besides the sandbox's own
 */
public record TerminalStart(
    List<String> command,
    Map<String, String> environment,
    @Nullable String cwd,
    Command.TerminalSize size,
    List<String> secrets) {
  public static final Command.TerminalSize USUAL_SIZE = new Command.TerminalSize(24, 80);

  private static final List<String> SHELL = List.of("/bin/bash", "-l");
  private static final List<String> ANY_SHELL = List.of("/bin/sh", "-l");
  private static final String TYPE = "xterm-256color";

  public TerminalStart {
    command = List.copyOf(command);
    environment = Map.copyOf(environment);
    secrets = List.copyOf(secrets);
  }

  /** As an exec without an end of its own. */
  // NullAway does not see the annotation of an array in a class file.
  @SuppressWarnings("NullAway")
  public ExecStart execStart() {
    Command shell = command.isEmpty() ? of(ANY_SHELL) : null;
    return new ExecStart(
        of(command.isEmpty() ? SHELL : command),
        shell,
        true,
        null,
        null,
        0,
        secrets,
        List.of(),
        false);
  }

  private Command of(List<String> arguments) {
    Map<String, String> variables = new HashMap<>(environment);
    variables.putIfAbsent("TERM", TYPE);
    return new Command(arguments, variables, cwd, size, null, true);
  }
}
