package dev.carrel.guest;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.Objects;

/** Turns the guest's refusals into ours. */
final class GuestErrors {
  private static final int MAX_TEXT = 4096;
  private static final int SHOWN = 300;

  private GuestErrors() {}

  /**
   * @param absent what {@code not_found} means for this operation
   * @param subject what was asked for, for the message
   */
  static SandboxException of(Fields error, ErrorCode absent, String subject) throws Malformed {
    String code = Objects.requireNonNullElse(error.text(10, MAX_TEXT), "");
    String said = Text.printable(Objects.requireNonNullElse(error.text(11, MAX_TEXT), code), SHOWN);
    String message = Text.printable(subject, SHOWN) + ": " + said;
    return switch (code) {
      case "not_found" -> new SandboxException(absent, message);
      case "exists" ->
          new SandboxException(
              absent == ErrorCode.EXEC_NOT_FOUND ? ErrorCode.WRONG_STATE : ErrorCode.FILE_EXISTS,
              message);
      case "not_a_file" -> new SandboxException(ErrorCode.NOT_A_FILE, message);
      case "not_a_directory" -> new SandboxException(ErrorCode.NOT_A_DIRECTORY, message);
      case "not_empty" ->
          new SandboxException(ErrorCode.DIRECTORY_NOT_EMPTY, message)
              .withHint("ask for a recursive removal to delete what it holds too");
      case "permission" -> permissionDenied(message);
      case "no_space" ->
          new SandboxException(ErrorCode.NO_SPACE, message)
              .withHint("delete files, or create the sandbox with more disk");
      case "too_large" -> new SandboxException(ErrorCode.TOO_LARGE, message);
      case "busy" -> new SandboxException(ErrorCode.WRONG_STATE, message);
      case "refused" ->
          new SandboxException(ErrorCode.WRONG_STATE, message)
              .withHint("start a server on that port in the sandbox first");
      case "no_process" ->
          new SandboxException(ErrorCode.LIMIT_REACHED, message)
              .withHint("end processes in the sandbox, or create it with a higher pids limit");
      case "denied" ->
          new SandboxException(
              absent == ErrorCode.FILE_NOT_FOUND
                  ? ErrorCode.PERMISSION_DENIED
                  : ErrorCode.FORBIDDEN,
              message);
      case "bad_request" -> new SandboxException(ErrorCode.INVALID_INPUT, message);
      case "unsupported" ->
          new SandboxException(ErrorCode.ENGINE_FAILED, message)
              .withHint("the guest is of another version than the server: create a new sandbox");
      default -> new SandboxException(ErrorCode.ENGINE_FAILED, message);
    };
  }

  private static SandboxException permissionDenied(String message) {
    var denied = new SandboxException(ErrorCode.PERMISSION_DENIED, message);
    // So does the kernel protect a volume that could not be written to, until it is mounted anew.
    return message.endsWith("Read-only file system")
        ? denied.withHint(
            "write to /workspace or /tmp; if /workspace is read-only, the server's disk was full or"
                + " failed: see to it, then stop and start the sandbox, its files are kept")
        : denied;
  }
}
