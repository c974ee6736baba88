package dev.carrel.server.rest;

import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Commands: run, list, look at. */
final class ExecRoutes {
  private static final Logger LOG = LoggerFactory.getLogger(ExecRoutes.class);
  private static final String SANDBOX = "/api/v1/sandboxes/{id}";
  private static final int NOT_FOUND = 127;
  private static final int PIECE = 64 * 1024;

  private final Execs execs;

  ExecRoutes(Execs execs) {
    this.execs = execs;
  }

  void addTo(Router router) {
    router
        .post(SANDBOX + "/exec", this::exec)
        .get(SANDBOX + "/execs", this::list)
        .get(SANDBOX + "/execs/{eid}", this::get);
  }

  private void exec(Exchange exchange) throws IOException, InterruptedException {
    ExecRequest request = ExecRequest.of(exchange.fields());
    Encoding encoding = Encoding.of(exchange.query());
    boolean live = exchange.accepts("text/event-stream");
    exchange.cancelWhenClientLeaves();
    try (Begun begun = begin(exchange, request)) {
      if (request.input() != null) {
        feed(exchange.caller(), Ids.sandbox(exchange), begun.stream, request.input());
      }
      if (live) {
        EventStream events = exchange.events();
        new ExecFollower(begun.stream, events, encoding).follow(begun.first);
      } else if (request.background()) {
        background(exchange, begun.stream);
      } else {
        exchange.json(200, ExecViews.Result.of(begun.stream.result()));
      }
    }
  }

  private void background(Exchange exchange, ExecStream stream) {
    var exec = execs.get(exchange.caller(), Ids.sandbox(exchange), stream.id());
    exchange
        .header(HeaderNames.LOCATION, "/api/v1/sandboxes/" + exec.sandbox() + "/execs/" + exec.id())
        .json(202, ExecViews.ExecInfo.of(exec));
  }

  private void list(Exchange exchange) {
    exchange.json(
        200,
        new ExecViews.ExecInfoList(
            execs.list(exchange.caller(), Ids.sandbox(exchange)).stream()
                .map(ExecViews.ExecInfo::of)
                .toList()));
  }

  private void get(Exchange exchange) {
    exchange.json(
        200,
        ExecViews.ExecInfo.of(
            execs.get(exchange.caller(), Ids.sandbox(exchange), Ids.exec(exchange))));
  }

  private Begun begin(Exchange exchange, ExecRequest request) throws InterruptedException {
    Caller caller = exchange.caller();
    SandboxId sandbox = Ids.sandbox(exchange);
    ExecStream stream = execs.start(caller, sandbox, request.command(), request.background());
    try {
      ExecEvent first = stream.next();
      if (request.line() == null || !isMissing(first)) {
        return new Begun(exchange, stream, first);
      }
    } catch (InterruptedException | RuntimeException e) {
      exchange.settle();
      stream.close();
      throw e;
    }
    stream.close();
    ExecStream plain = execs.start(caller, sandbox, request.withPlainShell(), request.background());
    return new Begun(exchange, plain, null);
  }

  private static boolean isMissing(@Nullable ExecEvent first) {
    return first instanceof ExecEvent.Exited exited
        && exited.cause() == ExecEvent.Cause.NOT_STARTED
        && exited.code() == NOT_FOUND;
  }

  // Beside the reading of the output, since a program may write before it has read everything.
  private void feed(Caller caller, SandboxId sandbox, ExecStream stream, byte[] input) {
    Thread.ofVirtual()
        .name("stdin-" + stream.id())
        .start(
            () -> {
              try {
                int at = 0;
                do {
                  int count = Math.min(PIECE, input.length - at);
                  var piece = ByteBuffer.wrap(input, at, count);
                  at += count;
                  execs.write(caller, sandbox, stream.id(), piece, at == input.length);
                } while (at < input.length);
              } catch (SandboxException e) {
                // A program may end without reading all of its input, and most do not mind.
                if (e.code().kind() == ErrorCode.Kind.BUG) {
                  LOG.error("standard input of {} failed", stream.id(), e);
                }
              }
            });
  }

  /**
   * A command under way.
   *
   * @param first its first event, when that has been taken from the stream already
   */
  private record Begun(Exchange exchange, ExecStream stream, @Nullable ExecEvent first)
      implements AutoCloseable {
    @Override
    public void close() {
      exchange.settle();
      stream.close();
    }
  }
}
