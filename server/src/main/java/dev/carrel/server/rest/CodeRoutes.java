package dev.carrel.server.rest;

import dev.carrel.control.admission.Waiting;
import dev.carrel.control.context.CodeStream;
import dev.carrel.control.context.Contexts;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.validate.CheckCode.OnDanger;
import dev.carrel.control.validate.Validator;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.Language;
import java.io.IOException;

/** Code in a context. */
final class CodeRoutes {
  private final Contexts contexts;
  private final Validator validator;

  CodeRoutes(Contexts contexts, Validator validator) {
    this.contexts = contexts;
    this.validator = validator;
  }

  void addTo(Router router) {
    router.post("/api/v1/sandboxes/{id}/code", this::code);
  }

  private void code(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    String language = fields.string("language");
    String context = fields.string("context_id");
    ExecuteCode request =
        new ExecuteCode(
            fields.requiredString("code"),
            language == null ? null : Language.parse(language),
            context == null ? null : new ContextId(context),
            ExecRequest.timeout(fields),
            Keys.of(exchange, fields));
    exchange.cancelWhenClientLeaves();
    String validate = fields.string("validate");
    if (validate != null) {
      request =
          validator.admit(
              exchange.caller(),
              Ids.sandbox(exchange),
              request,
              OnDanger.parse(validate),
              fields.bool("auto_fix", false));
    }
    if (exchange.accepts("text/event-stream") || request.key() != null) {
      stream(exchange, request);
    } else {
      contexts.execute(
          exchange.caller(),
          Ids.sandbox(exchange),
          request,
          result -> exchange.json(200, CodeViews.Result.of(result)));
    }
  }

  private void stream(Exchange exchange, ExecuteCode request)
      throws IOException, InterruptedException {
    boolean numbered = request.key() != null;
    long seen = numbered ? Keys.from(exchange) : 0;
    boolean live = exchange.accepts("text/event-stream");
    var answer = new LiveAnswer(exchange);
    Waiting waiting = live ? answer::queued : Waiting.UNSEEN;
    try (CodeStream stream =
        contexts.start(exchange.caller(), Ids.sandbox(exchange), request, waiting)) {
      try {
        Keys.replayed(exchange, stream.isReplay());
        if (live) {
          new CodeFollower(stream, answer.events(), numbered, seen).follow();
        } else {
          exchange.json(200, CodeViews.Result.of(stream.result()));
        }
      } finally {
        exchange.settle();
      }
    }
  }
}
