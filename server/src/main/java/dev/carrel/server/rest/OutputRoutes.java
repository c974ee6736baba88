package dev.carrel.server.rest;

import dev.carrel.control.exec.ExecOutput;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.exec.SignalScope;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Feeding;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.Command;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** A started command: its output, its input, its signals. */
final class OutputRoutes {
  private static final String EXEC = "/api/v1/sandboxes/{id}/execs/{eid}";
  private static final HeaderName OUTPUT_BYTES = HeaderNames.create("X-Carrel-Output-Bytes");
  private static final int PAGE = 1024 * 1024;
  private static final int STDIN_PIECE = 64 * 1024;

  private final Execs execs;

  OutputRoutes(Execs execs) {
    this.execs = execs;
  }

  void addTo(Router router) {
    router
        .get(EXEC + "/output", this::output)
        .post(EXEC + "/signal", this::signal)
        .post(EXEC + "/stdin", this::stdin)
        .post(EXEC + "/resize", this::resize);
  }

  private void output(Exchange exchange) throws IOException, InterruptedException {
    long from = exchange.query().number("from", 0, 0, Long.MAX_VALUE);
    Encoding encoding = Encoding.of(exchange.query());
    if (exchange.accepts("text/event-stream")) {
      follow(exchange, Keys.from(exchange), encoding);
    } else if (exchange.accepts("application/json")) {
      int limit = (int) exchange.query().number("limit", PAGE, 1, PAGE);
      exchange.json(200, page(output(exchange, from, limit), encoding));
    } else {
      raw(exchange, from);
    }
  }

  private void follow(Exchange exchange, long from, Encoding encoding)
      throws IOException, InterruptedException {
    try (ExecStream stream =
        execs.follow(exchange.caller(), Ids.sandbox(exchange), Ids.exec(exchange), from)) {
      new ExecFollower(stream, exchange.events(), encoding).follow();
    }
  }

  private void raw(Exchange exchange, long from) throws IOException, InterruptedException {
    // What is written meanwhile is for the next call, or this one might never end.
    long end = execs.get(exchange.caller(), Ids.sandbox(exchange), Ids.exec(exchange)).outputEnd();
    try (ExecStream stream =
        execs.follow(exchange.caller(), Ids.sandbox(exchange), Ids.exec(exchange), from)) {
      exchange
          .header(HeaderNames.CONTENT_TYPE, "application/octet-stream")
          .header(OUTPUT_BYTES, Long.toString(Math.max(0, end - from)));
      try (OutputStream out = exchange.output(200, -1)) {
        while (stream.offset() < end) {
          switch (stream.next()) {
            case ExecEvent.Output output -> write(out, output.bytes());
            case ExecEvent.Exited _ -> {
              return;
            }
            case null -> {
              return;
            }
            case ExecEvent.Started _, ExecEvent.Gap _ -> {}
          }
        }
      }
    }
  }

  private static void write(OutputStream out, ByteBuffer bytes) throws IOException {
    if (bytes.hasArray()) {
      out.write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
    } else {
      byte[] copy = new byte[bytes.remaining()];
      bytes.duplicate().get(copy);
      out.write(copy);
    }
  }

  private ExecOutput output(Exchange exchange, long from, int limit) {
    return execs.output(exchange.caller(), Ids.sandbox(exchange), Ids.exec(exchange), from, limit);
  }

  private static ExecViews.Output page(ExecOutput page, Encoding encoding) {
    if (encoding == Encoding.BASE64) {
      return page(page, encoding, page.next(), base64(page));
    }
    OutputText text = OutputText.of(page);
    return page(page, encoding, text.next(), text.chunks());
  }

  private static ExecViews.Output page(
      ExecOutput page, Encoding encoding, long next, List<ExecViews.Chunk> chunks) {
    return new ExecViews.Output(
        page.from(),
        next,
        page.end(),
        page.lostBytes(),
        page.running(),
        encoding.wireName(),
        chunks);
  }

  private static List<ExecViews.Chunk> base64(ExecOutput page) {
    List<ExecViews.Chunk> chunks = new ArrayList<>(page.chunks().size());
    long offset = page.from();
    for (ExecEvent.Output chunk : page.chunks()) {
      String data = Encoding.base64(chunk.bytes());
      chunks.add(new ExecViews.Chunk(ExecViews.wireName(chunk.channel()), offset, data));
      offset += chunk.bytes().remaining();
    }
    return chunks;
  }

  private void signal(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    SignalScope scope =
        switch (fields.string("scope", "group")) {
          case "process" -> SignalScope.MAIN;
          case "group" -> SignalScope.GROUP;
          case "tree" -> SignalScope.TREE;
          default -> throw fields.wrong("scope", "must be process, group or tree");
        };
    execs.signal(
        exchange.caller(),
        Ids.sandbox(exchange),
        Ids.exec(exchange),
        Signals.number(fields),
        scope);
    exchange.noContent();
  }

  private void stdin(Exchange exchange) throws IOException, InterruptedException {
    if (exchange.hasContentType("application/octet-stream")) {
      rawStdin(exchange);
    } else {
      Fields fields = exchange.fields();
      ByteBuffer data = ByteBuffer.wrap(data(fields));
      boolean eof = fields.bool("eof", false);
      whileClientStays(exchange, () -> write(exchange, data, eof));
    }
    exchange.noContent();
  }

  private void rawStdin(Exchange exchange) throws IOException, InterruptedException {
    boolean eof = exchange.query().flag("eof", false);
    InputStream body = exchange.body();
    // Whether a client is still there shows only behind its body.
    boolean ahead = exchange.contentLength().orElse(Long.MAX_VALUE) <= PAGE;
    InputStream source = ahead ? new ByteArrayInputStream(body.readAllBytes()) : body;
    byte[] piece = new byte[STDIN_PIECE];
    for (int count; (count = source.read(piece)) >= 0; ) {
      ByteBuffer bytes = ByteBuffer.wrap(piece, 0, count);
      if (ahead) {
        whileClientStays(exchange, () -> write(exchange, bytes, false));
      } else {
        Feeding.run(() -> write(exchange, bytes, false));
      }
    }
    if (eof) {
      whileClientStays(exchange, () -> write(exchange, ByteBuffer.allocate(0), true));
    }
  }

  /** Does what waits for a program that may never read. The body must have been read. */
  private static void whileClientStays(Exchange exchange, Runnable sending)
      throws InterruptedException {
    exchange.cancelWhenClientLeaves();
    try {
      sending.run();
    } catch (SandboxException e) {
      if (!Thread.currentThread().isInterrupted()) {
        throw e;
      }
    }
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }

  private static byte[] data(Fields fields) {
    if (!fields.has("base64")) {
      return fields.string("data", "").getBytes(StandardCharsets.UTF_8);
    }
    if (fields.has("data")) {
      throw fields.wrong("base64", "cannot go with data");
    }
    try {
      return Base64.getDecoder().decode(fields.string("base64", ""));
    } catch (IllegalArgumentException e) {
      throw fields.wrong("base64", "is not base64");
    }
  }

  private void write(Exchange exchange, ByteBuffer bytes, boolean end) {
    execs.write(exchange.caller(), Ids.sandbox(exchange), Ids.exec(exchange), bytes, end);
  }

  private void resize(Exchange exchange) throws IOException, InterruptedException {
    Command.TerminalSize size = ExecRequest.size(exchange.fields());
    whileClientStays(
        exchange,
        () -> execs.resize(exchange.caller(), Ids.sandbox(exchange), Ids.exec(exchange), size));
    exchange.noContent();
  }
}
