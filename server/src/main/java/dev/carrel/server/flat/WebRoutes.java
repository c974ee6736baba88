package dev.carrel.server.flat;

import dev.carrel.control.web.Fetched;
import dev.carrel.control.web.Found;
import dev.carrel.control.web.SearchRequest;
import dev.carrel.control.web.Web;
import dev.carrel.server.http.Fields;
import java.io.IOException;
import java.util.List;

/** Pages and searches, under the server's policy. */
final class WebRoutes {
  private static final int REDIRECT = 302;

  private final Web web;

  WebRoutes(Web web) {
    this.web = web;
  }

  Envelope fetch(FlatApi.Desk at) throws IOException, InterruptedException {
    Fields fields = at.exchange().fields();
    String url = fields.requiredString("url");
    fields.requiredString("prompt");
    at.exchange().cancelWhenClientLeaves();
    Fetched page = web.fetch(at.caller(), null, url, false);
    at.exchange().settle();
    return page.redirect() == null
        ? Envelope.of(new Content(page.text()))
        : new Envelope(
            REDIRECT, "redirect to another host", new Redirect(page.redirect().toString()));
  }

  Envelope search(FlatApi.Desk at) throws IOException, InterruptedException {
    Fields fields = at.exchange().fields();
    var request =
        new SearchRequest(
            fields.requiredString("query"),
            fields.words("allowed_domains").orElse(List.of()),
            fields.words("blocked_domains").orElse(List.of()),
            fields.wholeNumber("num", SearchRequest.USUAL, 1, 20),
            fields.string("lr", ""));
    at.exchange().cancelWhenClientLeaves();
    Found found = web.search(at.caller(), null, request);
    at.exchange().settle();
    return Envelope.of(new Results(found.hits()));
  }

  record Content(String content) {}

  record Redirect(String redirectUrl) {}

  record Results(List<Found.Hit> results) {}
}
