package dev.carrel.cli;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * The controlling terminal of this process, if any. Its modes are changed with {@code stty}, which
 * every Linux has and which knows each terminal's flags better than a hand-made structure would.
 */
final class Terminal {
  private static final Pattern TERMINAL_DEVICE = Pattern.compile("/dev/(pts/\\d+|tty.*|console)");
  private static final File DEVICE = new File("/dev/tty");

  /** Rows and columns. */
  record Size(int rows, int columns) {
    static final Size USUAL = new Size(24, 80);
  }

  boolean isTerminal(int descriptor) {
    try {
      Path target = Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor));
      return TERMINAL_DEVICE.matcher(target.toString()).matches();
    } catch (IOException closed) {
      return false;
    }
  }

  Size size() {
    return stty("size")
        .map(text -> text.split(" "))
        .filter(parts -> parts.length == 2)
        .map(parts -> new Size(Integer.parseInt(parts[0]), Integer.parseInt(parts[1])))
        .filter(size -> size.rows() > 0 && size.columns() > 0)
        .orElse(Size.USUAL);
  }

  /** To be asked before something is begun that only a terminal ends. */
  void require(String otherwise) {
    if (stty("-g").isEmpty()) {
      throw new CommandFailure("no terminal here", otherwise);
    }
  }

  /**
   * Every key goes through as it is, until closed. Also restored when the process is told to end.
   */
  AtExit enterRawMode() {
    String saved = stty("-g").orElseThrow(() -> new CommandFailure("no terminal here"));
    var restore = AtExit.run(() -> stty(saved));
    stty("raw", "-echo");
    return restore;
  }

  /** Each key is read at once and not shown, until closed; Ctrl-C stays what it is. */
  AtExit enterKeyMode() {
    String saved = stty("-g").orElseThrow(() -> new CommandFailure("no terminal here"));
    var restore = AtExit.run(() -> stty(saved));
    stty("-icanon", "-echo", "min", "1");
    return restore;
  }

  /** Asks for a line that is not shown while it is typed. */
  String readHidden(PrintStream prompt, String what) throws IOException {
    String saved = stty("-g").orElseThrow(() -> new CommandFailure("no terminal here"));
    try (AtExit _ = AtExit.run(() -> stty(saved));
        var keys = new BufferedReader(new FileReader(DEVICE, StandardCharsets.UTF_8))) {
      stty("-echo");
      prompt.print(what);
      prompt.flush();
      String line = keys.readLine();
      prompt.println();
      if (line == null) {
        throw new CommandFailure("no value was given");
      }
      return line;
    }
  }

  private static Optional<String> stty(String... arguments) {
    var command = new ArrayList<>(List.of("stty"));
    command.addAll(List.of(arguments));
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectInput(DEVICE)
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      String output =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      boolean ended = process.waitFor(5, TimeUnit.SECONDS);
      return ended && process.exitValue() == 0 ? Optional.of(output.strip()) : Optional.empty();
    } catch (IOException noTerminal) {
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }
}
