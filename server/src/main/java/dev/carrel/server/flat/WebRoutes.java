package dev.carrel.server.flat;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.carrel.control.web.Fetched;
import dev.carrel.control.web.Found;
import dev.carrel.control.web.SearchRequest;
import dev.carrel.control.web.Web;
import dev.carrel.server.http.Fields;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

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
    return told(page);
  }

  static Envelope told(Fetched page) {
    return page.redirect() == null
        ? Envelope.of(new Content(page.text(), page.status(), page.cut() ? true : null))
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
            Math.clamp(
                fields.wholeNumber(
                    "num", SearchRequest.USUAL, Integer.MIN_VALUE, Integer.MAX_VALUE),
                1,
                SearchRequest.MOST),
            fields.string("lr", ""));
    at.exchange().cancelWhenClientLeaves();
    Found found = web.search(at.caller(), null, request);
    at.exchange().settle();
    return Envelope.of(new Results(found.hits()));
  }

  /**
   * What a page says.
   *
   * @param status of the site's answer: also what it says of a missing page is told
   * @param truncated true: there is more; null: this is all
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  record Content(String content, int status, @Nullable Boolean truncated) {}

  record Redirect(String redirectUrl) {}

  record Results(List<Found.Hit> results) {}
}
