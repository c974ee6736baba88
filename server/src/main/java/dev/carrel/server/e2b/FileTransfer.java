package dev.carrel.server.e2b;

import dev.carrel.control.access.AccessTokens;
import dev.carrel.control.files.ByteRange;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.FileEntry;
import dev.carrel.control.files.Files;
import dev.carrel.control.files.WriteFile;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.server.e2b.Signatures.Operation;
import dev.carrel.server.http.Download;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Multipart;
import dev.carrel.server.http.Router;
import dev.carrel.server.rest.Ranges;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;

/** {@code /files}: whole files, by token or by a signed link. */
final class FileTransfer {
  private static final String FORM = "multipart/form-data";
  private static final String GZIP = "gzip";
  private static final int MAX_FILES = 1000;

  private final DataPlane plane;
  private final AccessTokens tokens;
  private final Signatures signatures;
  private final Files files;

  FileTransfer(DataPlane plane, AccessTokens tokens, Files files) {
    this.plane = plane;
    this.tokens = tokens;
    this.signatures = new Signatures(tokens);
    this.files = files;
  }

  void addTo(Router router) {
    router
        .open("GET", "/files", Failures.told(this::get))
        .open("POST", "/files", Failures.told(this::post));
  }

  private void get(Exchange exchange) throws IOException {
    Target target = admit(exchange, Operation.READ);
    Home home = Home.of(requirePath(exchange));
    Optional<ByteRange> range = exchange.header(HeaderNames.RANGE).flatMap(Ranges::parse);
    try (FileDownload download =
        files.read(target.caller, target.sandbox, home.inside(), range.orElse(null))) {
      send(exchange, download, range.isPresent());
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.RANGE_NOT_SATISFIABLE) {
        throw HttpProblem.rangeNotSatisfiable(
            files.stat(target.caller, target.sandbox, home.inside()).size());
      }
      throw e;
    }
  }

  private static void send(Exchange exchange, FileDownload download, boolean partial)
      throws IOException {
    boolean packed =
        !partial
            && exchange
                .header(HeaderNames.ACCEPT_ENCODING)
                .filter(accepted -> accepted.strip().equalsIgnoreCase(GZIP))
                .isPresent();
    Download.describe(exchange, "inline", download.entry().name())
        .header(HeaderNames.VARY, "Accept-Encoding")
        .header(HeaderNames.ACCEPT_RANGES, "bytes");
    if (packed) {
      exchange.header(HeaderNames.CONTENT_ENCODING, GZIP);
      try (OutputStream out = new GZIPOutputStream(exchange.output(200, -1))) {
        download.transferTo(out);
      }
      return;
    }
    if (download.length() == 0) {
      exchange.bytes(200, new byte[0]);
      return;
    }
    Download.send(exchange, download, partial);
  }

  private void post(Exchange exchange) throws IOException {
    Target target = admit(exchange, Operation.WRITE);
    String type = exchange.header(HeaderNames.CONTENT_TYPE).orElse("");
    var written = new ArrayList<Written>();
    Map<String, String> metadata = Metadata.of(exchange);
    InputStream body = unpacked(exchange);
    if (!type.toLowerCase(Locale.ROOT).startsWith(FORM)) {
      written.add(write(target, requirePath(exchange), body, metadata));
    } else {
      parts(exchange, target, new Multipart(body, type), metadata, written);
    }
    Wire.json(exchange, 200, written);
  }

  private void parts(
      Exchange exchange,
      Target target,
      Multipart multipart,
      Map<String, String> metadata,
      List<Written> written)
      throws IOException {
    for (Multipart.Part part = multipart.next(); part != null; part = multipart.next()) {
      if (!part.name().equals("file")) {
        continue;
      }
      if (written.size() == MAX_FILES) {
        throw SandboxException.invalid("file", "at most " + MAX_FILES + " at once");
      }
      String path = exchange.query().text("path").orElse(part.filename());
      if (path.isEmpty()) {
        throw SandboxException.invalid("path", "is required");
      }
      written.add(write(target, path, part.content(), metadata));
    }
  }

  private Written write(
      Target target, String path, InputStream content, Map<String, String> metadata)
      throws IOException {
    Home home = Home.of(path);
    WriteFile options = WriteFile.plain().withAttributes(metadata);
    FileEntry entry = files.write(target.caller, target.sandbox, home.inside(), content, options);
    return new Written(
        home.shown(entry.path()), entry.name(), "file", metadata.isEmpty() ? null : metadata);
  }

  private static InputStream unpacked(Exchange exchange) throws IOException {
    String encoding =
        exchange.header(HeaderNames.CONTENT_ENCODING).orElse("").strip().toLowerCase(Locale.ROOT);
    return switch (encoding) {
      case "", "identity" -> exchange.body();
      // How large it becomes is bounded where files are written.
      case GZIP -> new Gunzipped(exchange.body());
      default -> throw SandboxException.invalid("Content-Encoding", "must be gzip or identity");
    };
  }

  private static String requirePath(Exchange exchange) {
    return exchange
        .query()
        .text("path")
        .orElseThrow(() -> SandboxException.invalid("path", "is required"));
  }

  /** By the sandbox's token, or by a signature: a link may not even name its sandbox. */
  private Target admit(Exchange exchange, Operation operation) {
    DataPlane.requireUser(exchange.query().text("username").orElse(null));
    Optional<Place> place = plane.place(exchange);
    if (place.isPresent() && plane.showsToken(exchange)) {
      SandboxId sandbox = place.get().sandbox();
      return new Target(plane.admit(exchange, sandbox), sandbox);
    }
    Sandbox there;
    if (place.isPresent()) {
      there = plane.requireRunning(place.get().sandbox());
      signatures.check(exchange, there.id(), operation);
    } else {
      there = plane.requireRunning(signatures.find(exchange, operation));
    }
    SandboxId sandbox = there.id();
    Caller caller =
        tokens.owner(sandbox).orElseThrow(() -> SandboxAway.notRunning(sandbox.value()));
    return new Target(plane.entering(caller, there), sandbox);
  }

  private record Target(Caller caller, SandboxId sandbox) {}

  /** What was written, as clients want to hear of it. */
  record Written(String path, String name, String type, @Nullable Map<String, String> metadata) {}
}
