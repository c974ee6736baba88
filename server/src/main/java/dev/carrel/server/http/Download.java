package dev.carrel.server.http;

import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.MediaType;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.io.OutputStream;

/**
 * A file that somebody else wrote, as an answer. Whatever it says it is, no browser may run it as a
 * page of ours.
 */
public final class Download {
  private static final HeaderName CSP = HeaderNames.create("Content-Security-Policy");

  private Download() {}

  /**
   * Says what follows, by its name alone.
   *
   * @param kind {@code attachment} or {@code inline}
   */
  public static Exchange describe(Exchange exchange, String kind, String name) {
    return describe(exchange, kind, name, MediaType.of(name));
  }

  /** As {@link #describe(Exchange, String, String)}, for what is made on the way. */
  public static Exchange describe(Exchange exchange, String kind, String name, String type) {
    return exchange
        .header(HeaderNames.CONTENT_TYPE, type)
        .header(HeaderNames.CONTENT_DISPOSITION, Disposition.of(kind, name))
        .header(CSP, "sandbox; default-src 'none'");
  }

  /**
   * The bytes, after {@link #describe}.
   *
   * @param partial whether a range was asked for
   */
  public static void send(Exchange exchange, FileDownload download, boolean partial)
      throws IOException {
    if (partial) {
      long last = download.offset() + download.length() - 1;
      exchange.header(
          HeaderNames.CONTENT_RANGE,
          "bytes " + download.offset() + "-" + last + "/" + download.entry().size());
    }
    try (OutputStream out = exchange.output(partial ? 206 : 200, download.length())) {
      download.transferTo(out);
    }
  }
}
