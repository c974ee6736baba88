package dev.carrel.server.flat;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.carrel.control.Control;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.FileEntry;
import dev.carrel.control.files.FileListing;
import dev.carrel.control.files.Grep;
import dev.carrel.control.files.WriteFile;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.server.http.Fields;
import dev.carrel.server.tools.GrepText;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Files of the caller's sandbox. */
final class FileRoutes {
  private static final int MAX_READ = 4 << 20;
  private static final int MAX_MATCHES = 1000;
  private static final int USUAL_MATCHES = 100;
  private static final int USUAL_LINE = 2000;

  private final Control control;

  FileRoutes(Control control) {
    this.control = control;
  }

  Envelope read(FlatApi.Desk at) throws IOException, InterruptedException {
    Fields fields = at.exchange().fields();
    String path = fields.requiredString("file");
    boolean base64 = fields.bool("base64", false);
    var bytes = new ByteArrayOutputStream();
    try (FileDownload file = control.files().read(at.caller(), at.id(), path, null)) {
      if (file.length() > MAX_READ) {
        throw new SandboxException(
                ErrorCode.TOO_LARGE, path + " is over the limit of " + MAX_READ + " bytes")
            .withHint("GET /api/v1/sandboxes/ID/files has no such limit");
      }
      file.transferTo(bytes);
    }
    String content =
        base64
            ? Base64.getEncoder().encodeToString(bytes.toByteArray())
            : bytes.toString(StandardCharsets.UTF_8);
    return Envelope.of(new Content(content));
  }

  Envelope write(FlatApi.Desk at) throws IOException, InterruptedException {
    Fields fields = at.exchange().fields();
    String path = fields.requiredString("file");
    String content = fields.string("content");
    if (content == null) {
      throw fields.missing("content");
    }
    byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
    if (fields.bool("base64", false)) {
      try {
        bytes = Base64.getDecoder().decode(content);
      } catch (IllegalArgumentException e) {
        throw fields.wrong("content", "is not base64");
      }
    }
    control
        .files()
        .write(
            at.caller(),
            at.id(),
            path,
            new ByteArrayInputStream(bytes),
            WriteFile.plain().withSize((long) bytes.length));
    return Envelope.done();
  }

  Envelope list(FlatApi.Desk at) throws IOException, InterruptedException {
    String path = at.exchange().fields().requiredString("path");
    FileListing found = control.files().list(at.caller(), at.id(), path, 1, Integer.MAX_VALUE);
    return Envelope.of(
        new Listing(
            found.entries().stream().map(Entry::of).toList(), found.truncated() ? true : null));
  }

  Envelope delete(FlatApi.Desk at) throws IOException, InterruptedException {
    String path = at.exchange().fields().requiredString("path");
    control.files().remove(at.caller(), at.id(), path, true, false);
    return Envelope.done();
  }

  Envelope mkdir(FlatApi.Desk at) throws IOException, InterruptedException {
    String path = at.exchange().fields().requiredString("path");
    control.files().mkdir(at.caller(), at.id(), path, true);
    return Envelope.done();
  }

  Envelope move(FlatApi.Desk at) throws IOException, InterruptedException {
    Fields fields = at.exchange().fields();
    String from = fields.requiredString("source");
    String to = fields.requiredString("destination");
    control.files().move(at.caller(), at.id(), from, to, true);
    return Envelope.done();
  }

  Envelope copy(FlatApi.Desk at) throws IOException, InterruptedException {
    Fields fields = at.exchange().fields();
    String from = fields.requiredString("source");
    String to = fields.requiredString("destination");
    SandboxId id = at.id();
    if (control.files().stat(at.caller(), id, from).type() != FileEntry.Type.FILE) {
      throw new SandboxException(ErrorCode.NOT_A_FILE, from + " is not a file");
    }
    int slash = to.lastIndexOf('/');
    if (slash > 0) {
      control.files().mkdir(at.caller(), id, to.substring(0, slash), true);
    }
    control.files().copy(at.caller(), id, from, to, true);
    return Envelope.done();
  }

  Envelope exists(FlatApi.Desk at) throws InterruptedException {
    String path =
        at.exchange()
            .query()
            .text("path")
            .filter(text -> !text.isEmpty())
            .orElseThrow(() -> SandboxException.invalid("path", "is required"));
    try {
      control.files().statLink(at.caller(), at.id(), path);
      return Envelope.of(new Exists(true));
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.FILE_NOT_FOUND || e.code() == ErrorCode.NOT_A_DIRECTORY) {
        return Envelope.of(new Exists(false));
      }
      throw e;
    }
  }

  Envelope grep(FlatApi.Desk at) throws IOException, InterruptedException {
    Fields fields = at.exchange().fields();
    String mode = fields.string("output_mode", "content");
    if (!Set.of("content", "files_only", "count").contains(mode)) {
      throw fields.wrong("output_mode", "must be content, files_only or count");
    }
    // What is told of many matches is short: control's own bound is enough.
    int usual = mode.equals("content") ? USUAL_MATCHES : Integer.MAX_VALUE;
    Long limit = fields.wholeNumber("limit", 1, MAX_MATCHES);
    int line = fields.wholeNumber("max_line_length", USUAL_LINE, 1, USUAL_LINE);
    var grep =
        new Grep(
            fields.string("path", Sandbox.WORKSPACE),
            fields.requiredString("pattern"),
            fields.string("glob"),
            fields.bool("case_insensitive", false),
            false,
            false,
            fields.wholeNumber("context_lines", 0, 0, 20),
            limit == null ? usual : limit.intValue());
    Grep.Result found = control.files().grep(at.caller(), at.id(), grep);
    return Envelope.of(new Matches(GrepText.of(found, mode, line), found.truncated()));
  }

  record Content(String content) {}

  record Exists(boolean exists) {}

  record Matches(String output, boolean truncated) {}

  /**
   * What is in a folder.
   *
   * @param truncated true: there is more; null: this is all
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  record Listing(List<Entry> files, @Nullable Boolean truncated) {}

  record Entry(String name, String path, long size, boolean isDir, String mode, long modTimeUnix) {
    static Entry of(FileEntry entry) {
      return new Entry(
          entry.name(),
          entry.path(),
          entry.size(),
          entry.type() == FileEntry.Type.DIR,
          "0" + Integer.toOctalString(entry.mode()),
          entry.modifiedAt().getEpochSecond());
    }
  }
}
