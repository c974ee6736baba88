package dev.carrel.server.rest;

import dev.carrel.control.files.ArchiveFormat;
import dev.carrel.control.files.ByteRange;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.FileEntry;
import dev.carrel.control.files.FileListing;
import dev.carrel.control.files.Files;
import dev.carrel.control.files.WriteFile;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.server.http.Download;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.OutputStream;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Raw files by path. */
final class FileRoutes {
  private static final String ALL = "/api/v1/sandboxes/{id}/files";
  private static final String ONE = ALL + "/{path...}";
  private static final HeaderName TRUNCATED = HeaderNames.create("X-Carrel-Truncated");
  private static final int MAX_DEPTH = 64;
  private static final int MAX_MODE = 0777;

  private final Files files;

  FileRoutes(Files files) {
    this.files = files;
  }

  void addTo(Router router) {
    router
        .get(ALL, this::list)
        .put(ONE, this::put)
        .get(ONE, this::get)
        .head(ONE, this::head)
        .delete(ONE, this::delete);
  }

  private void list(Exchange exchange) {
    FileListing listing =
        files.list(
            exchange.caller(),
            Ids.sandbox(exchange),
            exchange.query().text("path").orElse(Sandbox.WORKSPACE),
            (int) exchange.query().number("depth", 1, 1, MAX_DEPTH),
            (int) exchange.query().number("limit", Integer.MAX_VALUE, 1, Integer.MAX_VALUE));
    exchange
        .header(TRUNCATED, Boolean.toString(listing.truncated()))
        .json(200, FileViews.Entry.of(listing));
  }

  private void put(Exchange exchange) throws IOException {
    SandboxId sandbox = Ids.sandbox(exchange);
    String path = FilePath.of(exchange);
    boolean absent =
        exchange
            .header(HeaderNames.IF_NONE_MATCH)
            .filter(tag -> tag.strip().equals("*"))
            .isPresent();
    var options =
        new WriteFile(
            exchange.contentLength().isPresent() ? exchange.contentLength().getAsLong() : null,
            mode(exchange),
            exchange.query().flag("append", false),
            absent,
            ifMatch(exchange, sandbox, path));
    try {
      FileEntry entry = files.write(exchange.caller(), sandbox, path, exchange.body(), options);
      exchange.header(HeaderNames.ETAG, ETags.quoted(entry)).noContent();
    } catch (SandboxException e) {
      if (absent && e.code() == ErrorCode.FILE_EXISTS) {
        throw new SandboxException(ErrorCode.PRECONDITION_FAILED, e.message(), e);
      }
      throw e;
    }
  }

  // Control compares one tag at the time of the write; a list or a * is settled here.
  private @Nullable String ifMatch(Exchange exchange, SandboxId sandbox, String path) {
    Optional<String> list = exchange.header(HeaderNames.IF_MATCH);
    if (list.isEmpty()) {
      return null;
    }
    return requireMatch(exchange, sandbox, path, list.get()).etag();
  }

  private FileEntry requireMatch(Exchange exchange, SandboxId sandbox, String path, String list) {
    FileEntry entry;
    try {
      entry = files.stat(exchange.caller(), sandbox, path);
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.FILE_NOT_FOUND) {
        throw new SandboxException(ErrorCode.PRECONDITION_FAILED, e.message(), e);
      }
      throw e;
    }
    if (!ETags.matches(list, entry)) {
      throw new SandboxException(
          ErrorCode.PRECONDITION_FAILED, "the file has changed; it is now " + ETags.quoted(entry));
    }
    return entry;
  }

  private static int mode(Exchange exchange) {
    Optional<String> text = exchange.query().text("mode");
    if (text.isEmpty()) {
      return 0644;
    }
    try {
      int mode = Integer.parseInt(text.get(), 8);
      if (mode >= 0 && mode <= MAX_MODE) {
        return mode;
      }
    } catch (NumberFormatException e) {
      // Said below, as for a number out of range.
    }
    throw SandboxException.invalid("mode", "must be octal, between 0 and 0777");
  }

  private void get(Exchange exchange) throws IOException {
    SandboxId sandbox = Ids.sandbox(exchange);
    String path = FilePath.of(exchange);
    String disposition = disposition(exchange);
    Optional<ByteRange> range = range(exchange, sandbox, path);
    FileDownload download;
    try {
      download = files.read(exchange.caller(), sandbox, path, range.orElse(null));
    } catch (SandboxException e) {
      switch (e.code()) {
        case NOT_A_FILE -> {
          zipIfDirectory(exchange, sandbox, path, e);
          return;
        }
        case RANGE_NOT_SATISFIABLE ->
            throw HttpProblem.rangeNotSatisfiable(
                files.stat(exchange.caller(), sandbox, path).size());
        default -> throw e;
      }
    }
    try (download) {
      send(exchange, download, range.isPresent(), disposition);
    }
  }

  private void send(Exchange exchange, FileDownload download, boolean partial, String disposition)
      throws IOException {
    FileEntry entry = download.entry();
    checkIfMatch(exchange, entry);
    describe(exchange, entry);
    if (isFresh(exchange, entry)) {
      exchange.headersOnly(304, -1);
      return;
    }
    Download.describe(exchange, disposition, entry.name());
    Download.send(exchange, download, partial);
  }

  private void head(Exchange exchange) {
    SandboxId sandbox = Ids.sandbox(exchange);
    String path = FilePath.of(exchange);
    FileEntry entry = files.stat(exchange.caller(), sandbox, path);
    String disposition = disposition(exchange);
    checkIfMatch(exchange, entry);
    if (entry.type() == FileEntry.Type.DIR) {
      Download.describe(exchange, disposition, entry.name() + ".zip", "application/zip");
      exchange.headersOnly(200, -1);
      return;
    }
    describe(exchange, entry);
    if (isFresh(exchange, entry)) {
      exchange.headersOnly(304, -1);
      return;
    }
    Download.describe(exchange, disposition, entry.name());
    exchange.headersOnly(200, entry.size());
  }

  private void delete(Exchange exchange) {
    SandboxId sandbox = Ids.sandbox(exchange);
    String path = FilePath.of(exchange);
    exchange
        .header(HeaderNames.IF_MATCH)
        .ifPresent(list -> requireMatch(exchange, sandbox, path, list));
    files.remove(
        exchange.caller(), sandbox, path, exchange.query().flag("recursive", false), false);
    exchange.noContent();
  }

  private void zipIfDirectory(
      Exchange exchange, SandboxId sandbox, String path, SandboxException otherwise)
      throws IOException {
    FileEntry entry = files.stat(exchange.caller(), sandbox, path);
    if (entry.type() != FileEntry.Type.DIR) {
      throw otherwise;
    }
    Download.describe(exchange, "attachment", entry.name() + ".zip", "application/zip");
    try (OutputStream out = exchange.output(200, -1)) {
      files.pack(exchange.caller(), sandbox, path, ArchiveFormat.ZIP, out);
    }
  }

  // If-Range names the version that the caller has a part of; of another it wants the whole.
  private Optional<ByteRange> range(Exchange exchange, SandboxId sandbox, String path) {
    Optional<ByteRange> range = exchange.header(HeaderNames.RANGE).flatMap(Ranges::parse);
    Optional<String> ifRange = exchange.header(HeaderNames.IF_RANGE);
    if (range.isEmpty() || ifRange.isEmpty()) {
      return range;
    }
    FileEntry entry = files.stat(exchange.caller(), sandbox, path);
    return ETags.matches(ifRange.get(), entry) ? range : Optional.empty();
  }

  private static void checkIfMatch(Exchange exchange, FileEntry entry) {
    Optional<String> list = exchange.header(HeaderNames.IF_MATCH);
    if (list.isPresent() && !ETags.matches(list.get(), entry)) {
      throw new SandboxException(
          ErrorCode.PRECONDITION_FAILED, "the file has changed; it is now " + ETags.quoted(entry));
    }
  }

  private static boolean isFresh(Exchange exchange, FileEntry entry) {
    return exchange
        .header(HeaderNames.IF_NONE_MATCH)
        .filter(list -> ETags.matches(list, entry))
        .isPresent();
  }

  private static void describe(Exchange exchange, FileEntry entry) {
    exchange
        .header(HeaderNames.ETAG, ETags.quoted(entry))
        .header(
            HeaderNames.LAST_MODIFIED,
            DateTimeFormatter.RFC_1123_DATE_TIME.format(
                entry.modifiedAt().atOffset(ZoneOffset.UTC)))
        .header(HeaderNames.ACCEPT_RANGES, "bytes")
        .header(HeaderNames.CACHE_CONTROL, "private, no-cache");
  }

  private static String disposition(Exchange exchange) {
    String kind = exchange.query().text("disposition").orElse("attachment");
    if (!kind.equals("attachment") && !kind.equals("inline")) {
      throw SandboxException.invalid("disposition", "must be attachment or inline");
    }
    return kind;
  }
}
