package dev.carrel.server.grpc;

import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.Files;
import dev.carrel.control.files.SandboxPath;
import dev.carrel.control.files.WriteFile;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.protocols.sandbox.ReadFileResponse;
import dev.carrel.protocols.sandbox.WriteFileRequest;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Text files of sessions: those below the workspace, and the folder of outputs by the name that
 * these clients know. What a link leads to is looked up inside the sandbox, by the sandbox's user.
 */
final class SessionFiles {
  private static final String OUTPUTS = "/mnt/user-data/outputs";
  private static final int FILE_MODE = 0644;

  private final Files files;
  private final long maxMessage;

  SessionFiles(Files files, DataSize maxMessage) {
    this.files = files;
    this.maxMessage = maxMessage.bytes();
  }

  void write(Caller caller, SandboxId id, WriteFileRequest request) throws IOException {
    boolean append =
        switch (request.getMode()) {
          case "", "w" -> false;
          case "a" -> true;
          default -> throw SandboxException.invalid("mode", "must be w or a");
        };
    byte[] content = request.getContent().getBytes(StandardCharsets.UTF_8);
    files.write(
        caller,
        id,
        path(request.getPath()),
        new ByteArrayInputStream(content),
        new WriteFile((long) content.length, FILE_MODE, append, false, null));
  }

  /** Broken UTF-8 is repaired. */
  String read(Caller caller, SandboxId id, String path) throws IOException {
    try (FileDownload download = files.read(caller, id, path(path), null)) {
      if (download.length() > maxMessage) {
        throw tooLarge(path, download.length());
      }
      var bytes = new ByteArrayOutputStream((int) download.length());
      download.transferTo(bytes);
      String content = bytes.toString(StandardCharsets.UTF_8);
      int size =
          ReadFileResponse.newBuilder()
              .setSuccess(true)
              .setContent(content)
              .build()
              .getSerializedSize();
      if (size > maxMessage) {
        throw tooLarge(path, size);
      }
      return content;
    }
  }

  private SandboxException tooLarge(String path, long size) {
    return new SandboxException(
            ErrorCode.TOO_LARGE,
            "%s has %d bytes as text, a message at most %d".formatted(path, size, maxMessage))
        .withHint("read it in parts with a command, or over REST");
  }

  private static String path(String path) {
    String absolute = absolute(path);
    if (absolute.equals(OUTPUTS) || absolute.startsWith(OUTPUTS + "/")) {
      return Sandbox.WORKSPACE + "/outputs" + absolute.substring(OUTPUTS.length());
    }
    if (!absolute.equals(Sandbox.WORKSPACE) && !absolute.startsWith(Sandbox.WORKSPACE + "/")) {
      throw new SandboxException(ErrorCode.PERMISSION_DENIED, "Path not allowed");
    }
    return absolute;
  }

  /** From the workspace on, without {@code .} and {@code ..}. */
  static String absolute(String path) {
    return SandboxPath.plain(path.startsWith("/") ? path : Sandbox.WORKSPACE + "/" + path);
  }
}
