package dev.carrel.server.rest;

import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Router;
import io.helidon.http.HeaderNames;

/** Leads whoever opens the bare address in a browser to the page that everybody may see. */
public final class FrontDoor {
  private FrontDoor() {}

  public static void addTo(Router router) {
    router.open("/", FrontDoor::lead).open("/docs/", FrontDoor::lead);
  }

  private static void lead(Exchange exchange) {
    exchange
        .header(HeaderNames.LOCATION, "/docs")
        .header(HeaderNames.CACHE_CONTROL, "no-cache")
        .bytes(302, new byte[0]);
  }
}
