package dev.carrel.control.files;

import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.SandboxException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;

/** Path rules. The guest resolves a path inside the sandbox; here only nonsense is refused. */
final class SandboxPath {
  private static final int MAX_BYTES = 4096;

  private SandboxPath() {}

  /** Absolute, without empty and {@code .} components. */
  static String of(String field, String path) {
    if (path.isEmpty()) {
      throw SandboxException.invalid(field, "must not be empty");
    }
    if (path.indexOf('\0') >= 0) {
      throw SandboxException.invalid(field, "must not contain NUL");
    }
    if (path.getBytes(StandardCharsets.UTF_8).length > MAX_BYTES) {
      throw SandboxException.invalid(field, "must have at most " + MAX_BYTES + " bytes");
    }
    var parts = new ArrayList<String>();
    for (String part : path.split("/", -1)) {
      if (part.equals("..")) {
        throw SandboxException.invalid(field, "must not contain '..'");
      }
      if (!part.isEmpty() && !part.equals(".")) {
        parts.add(part);
      }
    }
    String joined = String.join("/", parts);
    if (path.startsWith("/")) {
      return "/" + joined;
    }
    return joined.isEmpty() ? Sandbox.WORKSPACE : Sandbox.WORKSPACE + "/" + joined;
  }

  static String name(String path) {
    return path.substring(path.lastIndexOf('/') + 1);
  }
}
