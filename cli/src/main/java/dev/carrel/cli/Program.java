package dev.carrel.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** How a file or a piece of code is run: by which language, or by itself. */
enum Program {
  PYTHON("main.py", "python3"),
  NODE("main.js", "node"),
  R("main.R", "Rscript"),
  BASH("main.sh", "bash"),
  /** An executable: compiled, or with a shebang of a language that we have no name for. */
  ITSELF("main", "");

  private final String fileName;
  private final String interpreter;

  Program(String fileName, String interpreter) {
    this.fileName = fileName;
    this.interpreter = interpreter;
  }

  /** For code that comes without a file. */
  String fileName() {
    return fileName;
  }

  /** The command that runs {@code file}, which lies in the working directory. */
  List<String> command(String file, List<String> arguments) {
    var command = new ArrayList<String>();
    if (this != ITSELF) {
      command.add(interpreter);
    }
    command.add("./" + file);
    command.addAll(arguments);
    return command;
  }

  static Program ofLanguage(String language) {
    return switch (language.toLowerCase(Locale.ROOT)) {
      case "python", "py", "python3" -> PYTHON;
      case "node", "javascript", "js", "nodejs" -> NODE;
      case "r" -> R;
      case "bash", "sh", "shell" -> BASH;
      default ->
          throw CommandFailure.usage(
              "unknown language '" + language + "'", "one of python, node, r, bash");
    };
  }

  /** By extension, then by shebang, then by the executable bit. */
  static Program of(Path file) {
    return ofExtension(file)
        .or(() -> ofShebang(file))
        .or(() -> Files.isExecutable(file) ? Optional.of(ITSELF) : Optional.empty())
        .orElseThrow(
            () ->
                new CommandFailure(
                    "cannot tell the language of " + file,
                    "say --language python, node, r or bash, or give it a shebang"));
  }

  private static Optional<Program> ofExtension(Path file) {
    String name = String.valueOf(file.getFileName()).toLowerCase(Locale.ROOT);
    int dot = name.lastIndexOf('.');
    return Optional.ofNullable(
        switch (dot < 0 ? "" : name.substring(dot + 1)) {
          case "py" -> PYTHON;
          case "js", "mjs", "cjs" -> NODE;
          case "r" -> R;
          case "sh", "bash" -> BASH;
          default -> null;
        });
  }

  private static Optional<Program> ofShebang(Path file) {
    try (var reader =
        new BufferedReader(
            new InputStreamReader(Files.newInputStream(file), StandardCharsets.ISO_8859_1), 256)) {
      char[] start = new char[256];
      int n = reader.read(start);
      String line = n < 0 ? "" : new String(start, 0, n).lines().findFirst().orElse("");
      return line.startsWith("#!") ? Optional.of(ofInterpreter(line)) : Optional.empty();
    } catch (IOException e) {
      throw new CommandFailure("cannot read " + file + ": " + e.getMessage());
    }
  }

  private static Program ofInterpreter(String shebang) {
    String[] words = shebang.substring(2).strip().split("\\s+", -1);
    boolean env = words[0].endsWith("/env") && words.length > 1;
    String name = String.valueOf(Path.of(env ? words[words.length - 1] : words[0]).getFileName());
    if (name.startsWith("python")) {
      return PYTHON;
    }
    return switch (name) {
      case "node", "nodejs" -> NODE;
      case "Rscript" -> R;
      case "bash", "sh", "dash" -> BASH;
      default -> ITSELF;
    };
  }
}
