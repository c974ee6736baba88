package dev.carrel.server.tools;

import dev.carrel.control.Control;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.FileEntry;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.Content;
import dev.carrel.server.mcp.ToolResult;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A file as a model can take it in. */
final class FileReading {
  private static final int USUAL_LINES = 2000;
  private static final long MAX_MEDIA = 8L << 20;

  private final Control control;
  private final Caller caller;
  private final SandboxId sandbox;

  FileReading(Control control, Caller caller, SandboxId sandbox) {
    this.control = control;
    this.caller = caller;
    this.sandbox = sandbox;
  }

  ToolResult read(Call call) throws IOException {
    String path = call.text("file_path");
    try (FileDownload file = control.files().read(caller, sandbox, path, null)) {
      String mime = mime(path);
      if (mime != null) {
        return media(file, mime);
      }
      int first = call.arguments().path("offset").asInt(1);
      var lines = new NumberedLines(first, call.arguments().path("limit").asInt(USUAL_LINES));
      try {
        file.transferTo(lines);
      } catch (NumberedLines.Enough enough) {
        // All that was asked for is there; the rest of the file is not fetched.
      }
      return answer(lines, file.entry(), first);
    }
  }

  private static ToolResult answer(NumberedLines lines, FileEntry entry, int first) {
    if (entry.size() == 0) {
      return ToolResult.text(
          "<system-reminder>Warning: the file exists but its contents are empty.</system-reminder>");
    }
    if (lines.isBinary()) {
      return ToolResult.error(
          "Error: %s is not text (%d bytes). Use a command to look at it."
              .formatted(entry.path(), entry.size()));
    }
    String text = lines.text();
    if (text.isEmpty()) {
      return ToolResult.text(
          "<system-reminder>Warning: the file is shorter than offset %d: it has %d lines.</system-reminder>"
              .formatted(first, lines.count()));
    }
    return ToolResult.text(text);
  }

  private static ToolResult media(FileDownload file, String mime) throws IOException {
    FileEntry entry = file.entry();
    if (entry.size() > MAX_MEDIA) {
      throw new SandboxException(
          ErrorCode.TOO_LARGE,
          "%s has %d bytes; at most %d are shown".formatted(entry.path(), entry.size(), MAX_MEDIA));
    }
    var bytes = new ByteArrayOutputStream((int) entry.size());
    file.transferTo(bytes);
    String base64 = Base64.getEncoder().encodeToString(bytes.toByteArray());
    return new ToolResult(
        List.of(
            mime.startsWith("image/")
                ? Content.image(mime, base64)
                : Content.embeddedBlob("file://" + entry.path(), mime, base64)),
        null,
        false);
  }

  private static @Nullable String mime(String path) {
    String name = FileTools.lower(path);
    return switch (name.substring(name.lastIndexOf('.') + 1)) {
      case "png" -> "image/png";
      case "jpg", "jpeg" -> "image/jpeg";
      case "gif" -> "image/gif";
      case "webp" -> "image/webp";
      case "pdf" -> "application/pdf";
      default -> null;
    };
  }
}
