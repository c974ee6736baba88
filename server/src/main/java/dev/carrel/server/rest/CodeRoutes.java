package dev.carrel.server.rest;

import dev.carrel.control.context.CodeEvent;
import dev.carrel.control.context.CodeStream;
import dev.carrel.control.context.Contexts;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.Language;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;

/** Code in a context. */
final class CodeRoutes {
  private final Contexts contexts;

  CodeRoutes(Contexts contexts) {
    this.contexts = contexts;
  }

  void addTo(Router router) {
    router.post("/api/v1/sandboxes/{id}/code", this::code);
  }

  private void code(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    String language = fields.string("language");
    String context = fields.string("context_id");
    var request =
        new ExecuteCode(
            fields.requiredString("code"),
            language == null ? null : Language.parse(language),
            context == null ? null : new ContextId(context),
            ExecRequest.timeout(fields));
    exchange.cancelWhenClientLeaves();
    if (exchange.accepts("text/event-stream")) {
      live(exchange, request);
    } else {
      exchange.json(
          200,
          CodeViews.Result.of(contexts.execute(exchange.caller(), Ids.sandbox(exchange), request)));
    }
  }

  private void live(Exchange exchange, ExecuteCode request)
      throws IOException, InterruptedException {
    long asked = System.nanoTime();
    try (CodeStream stream = contexts.start(exchange.caller(), Ids.sandbox(exchange), request)) {
      try {
        follow(exchange.events(), stream, Duration.ofNanos(System.nanoTime() - asked));
      } finally {
        exchange.settle();
      }
    }
  }

  private static void follow(EventStream events, CodeStream stream, Duration queued)
      throws IOException, InterruptedException {
    events.send("started", new CodeViews.Started(ExecViews.millis(queued)));
    Map<Channel, Utf8Text> texts = new EnumMap<>(Channel.class);
    for (CodeEvent event; (event = stream.next(events.patience())) != null; ) {
      send(events, texts, event);
    }
  }

  private static void send(EventStream events, Map<Channel, Utf8Text> texts, CodeEvent event)
      throws IOException {
    switch (event) {
      case CodeEvent.Output output when !output.bytes().hasRemaining() -> events.keepAlive();
      case CodeEvent.Output output -> {
        Utf8Text text = texts.computeIfAbsent(output.channel(), channel -> new Utf8Text());
        text(events, output.channel(), text.decode(output.bytes()));
      }
      case CodeEvent.Result result -> events.send("result", CodeViews.bundle(result.bundle()));
      case CodeEvent.Display display -> events.send("display", CodeViews.bundle(display.bundle()));
      case CodeEvent.Failed failed ->
          events.send(
              "error",
              new CodeViews.Failed(
                  failed.error().type(), failed.error().message(), failed.error().traceback()));
      case CodeEvent.Done done -> {
        for (var entry : texts.entrySet()) {
          text(events, entry.getKey(), entry.getValue().end());
        }
        events.send("done", CodeViews.Done.of(done.result()));
      }
    }
  }

  private static void text(EventStream events, Channel channel, String text) throws IOException {
    if (!text.isEmpty()) {
      events.send(ExecViews.wireName(channel), "text", text);
    }
  }
}
