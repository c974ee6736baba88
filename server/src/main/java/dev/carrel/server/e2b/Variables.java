package dev.carrel.server.e2b;

import dev.carrel.spi.Language;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Variables that one cell has and the next has not: small cells before and after it see to that.
 *
 * @param sandbox what a variable of the same name is otherwise
 */
record Variables(Language language, Map<String, String> own, Map<String, String> sandbox) {
  /** The cell that comes before. */
  String set() {
    return own.entrySet().stream()
        .map(entry -> assign(entry.getKey(), entry.getValue()))
        .collect(Collectors.joining("\n"));
  }

  /** The cell that comes after. */
  String reset() {
    return own.keySet().stream()
        .map(name -> assign(name, sandbox.get(name)))
        .collect(Collectors.joining("\n"));
  }

  private String assign(String name, @Nullable String value) {
    String key = quoted(name);
    return switch (language) {
      case PYTHON ->
          value == null
              ? "__import__('os').environ.pop(" + key + ", None) and None"
              : "__import__('os').environ[" + key + "] = " + quoted(value);
      case NODE ->
          value == null
              ? "void delete process.env[" + key + "];"
              : "void (process.env[" + key + "] = " + quoted(value) + ");";
      case R ->
          value == null
              ? "invisible(Sys.unsetenv(" + key + "))"
              : "invisible(do.call(Sys.setenv, setNames(list("
                  + quoted(value)
                  + "), "
                  + key
                  + ")))";
      case BASH ->
          value == null ? "unset " + shell(name) : "export " + shell(name) + "=" + shell(value);
    };
  }

  private static String quoted(String text) {
    return '"'
        + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\r", "\\r")
        + '"';
  }

  private static String shell(String text) {
    return "'" + text.replace("'", "'\\''") + "'";
  }
}
