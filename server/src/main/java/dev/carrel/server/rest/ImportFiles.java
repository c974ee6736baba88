package dev.carrel.server.rest;

import dev.carrel.control.transfer.ImportFile;
import dev.carrel.control.transfer.Imported;
import dev.carrel.server.http.Fields;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What callers write of files that are to be imported, and what they are told. */
public final class ImportFiles {
  private ImportFiles() {}

  /** Reads the field {@code files}. */
  public static List<ImportFile> parse(Fields fields) {
    return fields.objects("files").stream().map(ImportFiles::one).toList();
  }

  private static ImportFile one(Fields file) {
    return new ImportFile(source(file), file.string("destination"), file.bool("unpack", false));
  }

  private static ImportFile.Source source(Fields file) {
    String content = file.string("file_content");
    String sandbox = file.has("sandbox_id") ? file.string("sandbox_id") : file.string("session_id");
    String url = file.string("url");
    String source = file.string("source");
    long given = Stream.of(content, sandbox, url, source).filter(one -> one != null).count();
    if (given != 1) {
      throw file.wrong("source", "one of source, url, file_content and sandbox_id is required");
    }
    if (content != null) {
      return new ImportFile.Inline(
          file.requiredString("file_name"), bytes(file, content, file.string("encoding", "text")));
    }
    if (sandbox != null) {
      return new ImportFile.Exported(new SandboxId(sandbox), file.requiredString("path"));
    }
    if (url != null) {
      return new ImportFile.Address(url);
    }
    String text = String.valueOf(source);
    return text.toLowerCase(Locale.ROOT).matches("https?://.*")
        ? new ImportFile.Address(text)
        : new ImportFile.OnHost(text);
  }

  private static byte[] bytes(Fields file, String content, String encoding) {
    switch (encoding) {
      case "text" -> {
        return content.getBytes(StandardCharsets.UTF_8);
      }
      case "base64" -> {
        try {
          return Base64.getDecoder().decode(content);
        } catch (IllegalArgumentException e) {
          throw file.wrong("file_content", "is not base64");
        }
      }
      default -> throw file.wrong("encoding", "must be text or base64");
    }
  }

  /** What came of all. */
  public record View(boolean success, List<FileView> files, String error) {
    public static View of(List<Imported> done) {
      return new View(
          done.stream().allMatch(Imported::success), done.stream().map(FileView::of).toList(), "");
    }
  }

  /** What came of one. */
  public record FileView(
      String source,
      String destination,
      boolean success,
      long files,
      long size,
      long skipped,
      @Nullable String error,
      @Nullable String code) {
    static FileView of(Imported one) {
      SandboxException failure = one.failure();
      return new FileView(
          one.source(),
          one.destination(),
          one.success(),
          one.files(),
          one.size(),
          one.skipped(),
          failure == null ? null : words(failure),
          failure == null ? null : failure.code().wireName());
    }
  }

  /** What is wrong, and what to do about it. */
  static String words(SandboxException failure) {
    return failure.hint().map(hint -> failure.message() + "; " + hint).orElse(failure.message());
  }
}
