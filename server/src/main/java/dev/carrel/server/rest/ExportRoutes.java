package dev.carrel.server.rest;

import dev.carrel.control.files.ArchiveFormat;
import dev.carrel.control.files.ByteRange;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.FileEntry;
import dev.carrel.control.transfer.Export;
import dev.carrel.control.transfer.Exported;
import dev.carrel.control.transfer.Exports;
import dev.carrel.server.http.Download;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.PublicAddress;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExportId;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Files that may leave a sandbox, and the links to them. */
public final class ExportRoutes {
  private static final String ALL = "/api/v1/sandboxes/{id}/exports";
  private static final String CONTENT = "/api/v1/exports/{xid}/content";

  private final Exports exports;
  private final PublicAddress address;

  ExportRoutes(Exports exports, PublicAddress address) {
    this.exports = exports;
    this.address = address;
  }

  void addTo(Router router) {
    router
        .post(ALL, this::add)
        .get(ALL, this::list)
        .delete(ALL + "/{xid}", this::remove)
        .open("GET", CONTENT, this::content)
        .open("HEAD", CONTENT, this::head);
  }

  private void add(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    List<String> paths = fields.words("paths").orElseThrow(() -> fields.missing("paths"));
    Long seconds = fields.wholeNumber("expires_in_seconds", 1, Integer.MAX_VALUE);
    Duration time = seconds == null ? null : Duration.ofSeconds(seconds);
    List<Exported> done = exports.add(exchange.caller(), Ids.sandbox(exchange), paths, time);
    exchange.json(200, View.of(done, address.of(exchange)));
  }

  private void list(Exchange exchange) {
    exchange.json(
        200,
        new Page(
            exports.list(exchange.caller(), Ids.sandbox(exchange)).stream()
                .map(
                    one -> new ExportView(one.id().value(), one.path(), one.createdAt().toString()))
                .toList()));
  }

  private void remove(Exchange exchange) {
    exports.remove(
        exchange.caller(), Ids.sandbox(exchange), new ExportId(exchange.parameter("xid")));
    exchange.noContent();
  }

  private Export admit(Exchange exchange) {
    ExportId id = new ExportId(exchange.parameter("xid"));
    return exports.admit(id, exchange.query().text("signature").orElse(""));
  }

  private static ArchiveFormat format(Exchange exchange) {
    return ArchiveFormat.parse(exchange.query().text("format").orElse("zip"));
  }

  private void head(Exchange exchange) {
    Export export = admit(exchange);
    FileEntry entry = exports.stat(export);
    boolean folder = entry.type() == FileEntry.Type.DIR;
    describe(exchange, entry, folder ? format(exchange) : null);
    exchange.headersOnly(200, folder ? -1 : entry.size());
  }

  private void content(Exchange exchange) throws IOException {
    Export export = admit(exchange);
    ArchiveFormat format = format(exchange);
    FileEntry entry = exports.stat(export);
    if (entry.type() == FileEntry.Type.DIR) {
      describe(exchange, entry, format);
      try (OutputStream out = exchange.output(200, -1)) {
        exports.pack(export, format, out);
      }
      return;
    }
    Optional<ByteRange> range = exchange.header(HeaderNames.RANGE).flatMap(Ranges::parse);
    try (FileDownload download = exports.read(export, range.orElse(null))) {
      send(exchange, download, range.isPresent());
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.RANGE_NOT_SATISFIABLE) {
        throw HttpProblem.rangeNotSatisfiable(entry.size());
      }
      throw e;
    }
  }

  private static void send(Exchange exchange, FileDownload download, boolean partial)
      throws IOException {
    describe(exchange, download.entry(), null);
    exchange.header(HeaderNames.ACCEPT_RANGES, "bytes");
    Download.send(exchange, download, partial);
  }

  // It comes by a link that needs no token: nothing may keep it or tell of it.
  private static void describe(Exchange exchange, FileEntry entry, @Nullable ArchiveFormat packed) {
    if (packed == null) {
      Download.describe(exchange, "attachment", entry.name());
    } else {
      Download.describe(exchange, "attachment", entry.name() + packed.suffix(), packed.mediaType());
    }
    exchange
        .header(HeaderNames.CACHE_CONTROL, "private, no-store")
        .header(HeaderNames.create("Referrer-Policy"), "no-referrer");
  }

  /** What came of all. */
  public record View(boolean success, List<FileView> files, String error) {
    /**
     * @param address what links begin with
     */
    public static View of(List<Exported> done, String address) {
      return new View(
          done.stream().allMatch(Exported::success),
          done.stream().map(one -> FileView.of(one, address)).toList(),
          "");
    }
  }

  /** What came of one. */
  public record FileView(
      @Nullable String id,
      String path,
      boolean success,
      @Nullable String type,
      @Nullable Long size,
      @Nullable String downloadUrl,
      @Nullable String expiresAt,
      @Nullable String error,
      @Nullable String code) {
    static FileView of(Exported one, String address) {
      SandboxException failure = one.failure();
      Export.Link link = one.link();
      if (failure != null || link == null) {
        return new FileView(
            null,
            one.path(),
            false,
            null,
            0L,
            null,
            null,
            failure == null ? null : ImportFiles.words(failure),
            failure == null ? null : failure.code().wireName());
      }
      return new FileView(
          link.export().id().value(),
          one.path(),
          true,
          one.folder() ? "dir" : "file",
          one.size(),
          address + "/api/v1/exports/" + link.export().id() + "/content?signature=" + link.token(),
          link.expires().toString(),
          null,
          null);
    }
  }

  record ExportView(String id, String path, String createdAt) {}

  record Page(List<ExportView> items) {}
}
