package dev.carrel.engine.host;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;

/** What the guest's program says when it cannot go on: a kind, a tab and why. */
public final class Complaint {
  private static final int MAX_MESSAGE = 700;

  private Complaint() {}

  /** The last line with a kind, and what was said before it. */
  public static SandboxException of(String log) {
    String message =
        "start: " + Text.printable(log.replace('\t', ' ').replace('\n', ' '), MAX_MESSAGE);
    String kind =
        log.lines()
            .filter(line -> line.indexOf('\t') > 0)
            .map(line -> line.substring(0, line.indexOf('\t')))
            .reduce("engine", (_, last) -> last);
    return switch (kind) {
      case "isolation" -> new SandboxException(ErrorCode.ISOLATION_NOT_AVAILABLE, message);
      case "conflict" -> new SandboxException(ErrorCode.WRONG_STATE, message);
      case "not_found" -> new SandboxException(ErrorCode.VOLUME_NOT_FOUND, message);
      case "image" -> new SandboxException(ErrorCode.IMAGE_NOT_FOUND, message);
      case "read_only" ->
          new SandboxException(ErrorCode.WRONG_STATE, message)
              .withHint(
                  "the server's disk was full or failed: see to it, then stop and start the sandbox,"
                      + " its files are kept");
      case "not_supported" -> new SandboxException(ErrorCode.NOT_SUPPORTED, message);
      case "no_space" ->
          new SandboxException(ErrorCode.NO_SPACE, message)
              .withHint("free space on the server's disk, then try again");
      default -> new SandboxException(ErrorCode.ENGINE_FAILED, message);
    };
  }
}
