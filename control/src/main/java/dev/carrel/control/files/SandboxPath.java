package dev.carrel.control.files;

import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.SandboxException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;

/**
 * A path that a caller named. The guest resolves it inside the sandbox; here only nonsense is
 * refused.
 *
 * @param absolute as callers see it, without empty and {@code .} components
 */
public record SandboxPath(String absolute) {
  private static final int MAX_BYTES = 4096;
  private static final String BELOW = Sandbox.WORKSPACE + "/";

  public static SandboxPath of(String field, String path) {
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
      return new SandboxPath("/" + joined);
    }
    return new SandboxPath(joined.isEmpty() ? Sandbox.WORKSPACE : BELOW + joined);
  }

  /**
   * An absolute path without empty, {@code .} and {@code ..} components, for clients that may use
   * them; one that would leave the root stays there, as everywhere.
   */
  public static String plain(String path) {
    var parts = new ArrayDeque<String>();
    for (String part : path.split("/", -1)) {
      if (part.equals("..")) {
        parts.pollLast();
      } else if (!part.isEmpty() && !part.equals(".")) {
        parts.addLast(part);
      }
    }
    return "/" + String.join("/", parts);
  }

  /**
   * As the guest is asked: what is in the workspace relative to it, for only the guest knows where
   * that is.
   */
  public String inside() {
    if (absolute.equals(Sandbox.WORKSPACE)) {
      return ".";
    }
    return absolute.startsWith(BELOW) ? absolute.substring(BELOW.length()) : absolute;
  }

  /** As callers see what the guest names. */
  static String shown(String inside) {
    if (inside.startsWith("/")) {
      return inside;
    }
    String rest = inside.startsWith("./") ? inside.substring(2) : inside;
    return rest.isEmpty() || rest.equals(".") ? Sandbox.WORKSPACE : BELOW + rest;
  }

  public static String name(String path) {
    return path.substring(path.lastIndexOf('/') + 1);
  }
}
