package dev.carrel.server.rest;

import dev.carrel.control.transfer.Uploads;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.UploadId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.Optional;
import java.util.regex.Pattern;

/** Uploads in parts, as tus 1.0.0 has them: its core, creation, termination and expiration. */
final class UploadRoutes {
  private static final String ALL = "/api/v1/sandboxes/{id}/uploads";
  private static final String ONE = ALL + "/{uid}";
  private static final String VERSION = "1.0.0";
  private static final String OFFSETS = "application/offset+octet-stream";
  private static final HeaderName RESUMABLE = HeaderNames.create("Tus-Resumable");
  private static final HeaderName LENGTH = HeaderNames.create("Upload-Length");
  private static final HeaderName OFFSET = HeaderNames.create("Upload-Offset");
  private static final HeaderName METADATA = HeaderNames.create("Upload-Metadata");
  private static final HeaderName EXPIRES = HeaderNames.create("Upload-Expires");
  private static final Pattern DIGITS = Pattern.compile("\\d{1,18}");

  private final Uploads uploads;

  UploadRoutes(Uploads uploads) {
    this.uploads = uploads;
  }

  void addTo(Router router) {
    router
        .post(ALL, this::begin)
        .head(ONE, this::head)
        .patch(ONE, this::append)
        .delete(ONE, this::remove);
  }

  private void begin(Exchange exchange) {
    requireVersion(exchange);
    Uploads.Progress begun =
        uploads.begin(
            exchange.caller(), Ids.sandbox(exchange), path(exchange), number(exchange, LENGTH));
    describe(exchange, begun)
        .header(HeaderNames.LOCATION, exchange.rawPath() + "/" + begun.upload().id())
        .bytes(201, new byte[0]);
  }

  private void head(Exchange exchange) throws InterruptedException {
    requireVersion(exchange);
    Uploads.Progress now = find(exchange);
    describe(exchange, now)
        .header(LENGTH, Long.toString(now.upload().size()))
        .header(HeaderNames.CACHE_CONTROL, "no-store")
        .headersOnly(200, -1);
  }

  private Uploads.Progress find(Exchange exchange) throws InterruptedException {
    UploadId id = id(exchange);
    try {
      return uploads.find(exchange.caller(), Ids.sandbox(exchange), id);
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.WRONG_STATE && uploads.isWritten(id)) {
        // Clients take any other refusal for the end of the upload, and begin anew.
        throw HttpProblem.locked(e.message());
      }
      throw e;
    }
  }

  private void append(Exchange exchange) throws IOException {
    requireVersion(exchange);
    if (!exchange.hasContentType(OFFSETS)) {
      throw SandboxException.invalid("Content-Type", "must be " + OFFSETS);
    }
    Uploads.Progress now =
        uploads.append(
            exchange.caller(),
            Ids.sandbox(exchange),
            id(exchange),
            number(exchange, OFFSET),
            exchange.body());
    describe(exchange, now).noContent();
  }

  private void remove(Exchange exchange) {
    requireVersion(exchange);
    uploads.remove(exchange.caller(), Ids.sandbox(exchange), id(exchange));
    exchange.header(RESUMABLE, VERSION).noContent();
  }

  private static UploadId id(Exchange exchange) {
    return new UploadId(exchange.parameter("uid"));
  }

  private static Exchange describe(Exchange exchange, Uploads.Progress now) {
    return exchange
        .header(RESUMABLE, VERSION)
        .header(OFFSET, Long.toString(now.offset()))
        .header(
            EXPIRES,
            DateTimeFormatter.RFC_1123_DATE_TIME.format(now.expires().atOffset(ZoneOffset.UTC)));
  }

  private static void requireVersion(Exchange exchange) {
    if (!exchange.header(RESUMABLE).orElse("").equals(VERSION)) {
      throw HttpProblem.otherTus(VERSION);
    }
  }

  private static long number(Exchange exchange, HeaderName name) {
    String text =
        exchange
            .header(name)
            .orElseThrow(() -> SandboxException.invalid(name.defaultCase(), "is required"))
            .strip();
    if (!DIGITS.matcher(text).matches()) {
      throw SandboxException.invalid(name.defaultCase(), "must be a whole number");
    }
    return Long.parseLong(text);
  }

  /** Where the file goes: {@code path}, or the {@code filename} that most clients send. */
  private static String path(Exchange exchange) {
    String metadata = exchange.header(METADATA).orElse("");
    return value(metadata, "path")
        .or(() -> value(metadata, "filename"))
        .orElseThrow(
            () -> SandboxException.invalid("Upload-Metadata", "must have a path or a filename"));
  }

  private static Optional<String> value(String metadata, String key) {
    for (String pair : metadata.split(",", -1)) {
      String[] parts = pair.strip().split(" ", 2);
      if (parts.length == 2 && parts[0].equals(key)) {
        try {
          return Optional.of(
              new String(Base64.getDecoder().decode(parts[1].strip()), StandardCharsets.UTF_8));
        } catch (IllegalArgumentException e) {
          throw HttpProblem.unreadable("Upload-Metadata", "is not base64");
        }
      }
    }
    return Optional.empty();
  }
}
