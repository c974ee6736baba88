package dev.carrel.server.rest;

import dev.carrel.control.admission.Waiting;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.ExecStream;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import io.helidon.http.HeaderNames;
import java.io.IOException;

/** Commands: run, list, look at. */
final class ExecRoutes {
  private static final String SANDBOX = "/api/v1/sandboxes/{id}";

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
    Fields fields = exchange.fields();
    ExecRequest request = ExecRequest.of(fields);
    Encoding encoding = Encoding.of(exchange.query());
    boolean live = exchange.accepts("text/event-stream");
    RequestKey key = Keys.of(exchange, fields);
    ExecStart start = request.start(key, key != null && live ? Keys.from(exchange) : 0);
    exchange.cancelWhenClientLeaves();
    var answer = new LiveAnswer(exchange);
    Waiting waiting = live ? answer::queued : Waiting.UNSEEN;
    try (Begun begun =
        new Begun(
            exchange, execs.start(exchange.caller(), Ids.sandbox(exchange), start, waiting))) {
      Keys.replayed(exchange, begun.stream.isReplay());
      if (live) {
        new ExecFollower(begun.stream, answer.events(), encoding).follow();
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

  /** A command under way. */
  private record Begun(Exchange exchange, ExecStream stream) implements AutoCloseable {
    @Override
    public void close() {
      exchange.settle();
      stream.close();
    }
  }
}
