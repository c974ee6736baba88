package dev.carrel.server.rest;

import dev.carrel.control.web.Fetched;
import dev.carrel.control.web.Found;
import dev.carrel.control.web.SearchRequest;
import dev.carrel.control.web.Web;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Pages and searches of the web. */
final class WebRoutes {
  private final Web web;

  WebRoutes(Web web) {
    this.web = web;
  }

  void addTo(Router router) {
    router.post("/api/v1/web/fetch", this::fetch).post("/api/v1/web/search", this::search);
  }

  private void fetch(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    String url = fields.requiredString("url");
    boolean fresh = fields.bool("fresh", false);
    SandboxId sandbox = sandbox(fields);
    exchange.cancelWhenClientLeaves();
    exchange.json(200, Page.of(web.fetch(exchange.caller(), sandbox, url, fresh)));
  }

  private void search(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    var request =
        new SearchRequest(
            fields.requiredString("query"),
            fields.words("allowed_domains").orElse(List.of()),
            fields.words("blocked_domains").orElse(List.of()),
            fields.wholeNumber("num", SearchRequest.USUAL, 1, Integer.MAX_VALUE),
            fields.string("lr", ""));
    SandboxId sandbox = sandbox(fields);
    exchange.cancelWhenClientLeaves();
    Found found = web.search(exchange.caller(), sandbox, request);
    exchange.json(200, new Results(found.provider(), found.hits()));
  }

  private static @Nullable SandboxId sandbox(Fields fields) {
    String id = fields.string("sandbox_id");
    return id == null ? null : new SandboxId(id);
  }

  record Page(
      String url,
      int status,
      @Nullable String redirectUrl,
      String contentType,
      String title,
      String content,
      boolean truncated,
      boolean cached) {
    static Page of(Fetched page) {
      return new Page(
          page.uri().toString(),
          page.status(),
          page.redirect() == null ? null : page.redirect().toString(),
          page.type(),
          page.title(),
          page.text(),
          page.cut(),
          page.cached());
    }
  }

  record Results(String provider, List<Found.Hit> results) {}
}
