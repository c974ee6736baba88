package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Shells of one sandbox that outlive those who look at them. Each is a command of the sandbox, with
 * its id.
 */
public final class Terminals {
  private static final TypeReference<ExecInfo> TERMINAL = new TypeReference<>() {};
  private static final TypeReference<TerminalList> TERMINALS = new TypeReference<>() {};
  private static final TypeReference<TerminalLink> LINK = new TypeReference<>() {};

  private final Transport transport;
  private final String sandboxPath;
  private final String path;

  Terminals(Transport transport, String sandboxPath) {
    this.transport = transport;
    this.sandboxPath = sandboxPath;
    this.path = sandboxPath + "/terminals";
  }

  /** Starts a login shell; {@link #attach} to it to see it. */
  public ExecInfo open() {
    return open(TerminalOptions.shell());
  }

  /** As {@link #open()}, in a way of its own. */
  public ExecInfo open(TerminalOptions options) {
    return transport.post(path, options, TERMINAL);
  }

  /** Those that run and those that ended lately, newest first. */
  public List<ExecInfo> list() {
    return transport.get(path, TERMINALS).execs();
  }

  /**
   * Its screen from an offset on, then live; can also be written to and resized. What breaks off is
   * gone on with, and closing leaves the shell running.
   */
  public ExecStream attach(String id, long from) {
    return ExecStream.attach(transport, sandboxPath, id, from);
  }

  /**
   * Makes a link to its WebSocket, for xterm.js and its like.
   *
   * @param write whether its holder may type, too
   */
  public TerminalLink link(String id, boolean write, Duration life) {
    return transport.post(
        one(id) + "/link", Map.of("write", write, "expires_in_seconds", life.toSeconds()), LINK);
  }

  /** Ends it and everything it started. */
  public void end(String id) {
    transport.delete(one(id));
  }

  private String one(String id) {
    return path + "/" + Transport.encode(id);
  }

  private record TerminalList(List<ExecInfo> execs) {}
}
