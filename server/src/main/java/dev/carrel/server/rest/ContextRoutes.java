package dev.carrel.server.rest;

import dev.carrel.control.context.Context;
import dev.carrel.control.context.Contexts;
import dev.carrel.control.context.CreateContext;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Persistent interpreters. */
final class ContextRoutes {
  private static final String ALL = "/api/v1/sandboxes/{id}/contexts";
  private static final String ONE = ALL + "/{cid}";

  private final Contexts contexts;

  ContextRoutes(Contexts contexts) {
    this.contexts = contexts;
  }

  void addTo(Router router) {
    router
        .get(ALL, this::list)
        .post(ALL, this::create)
        .get(ONE, this::get)
        .delete(ONE, this::delete)
        .post(ONE + "/interrupt", this::interrupt)
        .post(ONE + "/restart", this::restart);
  }

  private void list(Exchange exchange) {
    exchange.json(
        200,
        new CodeViews.ContextInfoList(
            contexts.list(exchange.caller(), Ids.sandbox(exchange)).stream()
                .map(CodeViews.ContextInfo::of)
                .toList()));
  }

  private void create(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    Map<String, String> env = fields.stringMap("env");
    String preload = fields.string("preload");
    Context context =
        contexts.create(
            exchange.caller(),
            Ids.sandbox(exchange),
            new CreateContext(
                Language.parse(fields.requiredString("language")),
                fields.string("cwd"),
                env == null ? Map.of() : env,
                preload == null ? null : Preload.parse(preload),
                fields.words("secrets").orElse(List.of())));
    exchange
        .header(
            HeaderNames.LOCATION,
            "/api/v1/sandboxes/" + context.sandbox() + "/contexts/" + context.id())
        .json(201, CodeViews.ContextInfo.of(context));
  }

  private void get(Exchange exchange) {
    exchange.json(
        200,
        CodeViews.ContextInfo.of(
            contexts.get(exchange.caller(), Ids.sandbox(exchange), Ids.context(exchange))));
  }

  private void delete(Exchange exchange) throws InterruptedException {
    contexts.delete(exchange.caller(), Ids.sandbox(exchange), Ids.context(exchange));
    exchange.noContent();
  }

  private void interrupt(Exchange exchange) {
    contexts.interrupt(exchange.caller(), Ids.sandbox(exchange), Ids.context(exchange));
    exchange.noContent();
  }

  private void restart(Exchange exchange) throws InterruptedException {
    exchange.json(
        200,
        CodeViews.ContextInfo.of(
            contexts.restart(exchange.caller(), Ids.sandbox(exchange), Ids.context(exchange))));
  }
}
