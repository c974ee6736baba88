package dev.carrel.server.rest;

import dev.carrel.control.port.PortLink;
import dev.carrel.control.port.Ports;
import dev.carrel.server.app.Apps;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.PublicAddress;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.time.Duration;

/** Links to what listens in sandboxes. */
final class PortRoutes {
  private final Ports ports;
  private final PublicAddress address;

  PortRoutes(Ports ports, PublicAddress address) {
    this.ports = ports;
    this.address = address;
  }

  void addTo(Router router) {
    router.post("/api/v1/sandboxes/{id}/ports/{port}/link", this::link);
  }

  private void link(Exchange exchange) throws IOException {
    SandboxId sandbox = Ids.sandbox(exchange);
    Fields fields = exchange.fields();
    int seconds =
        fields.wholeNumber(
            "expires_in_seconds",
            (int) Ports.USUAL_LIFE.toSeconds(),
            1,
            (int) Ports.LONGEST_LIFE.toSeconds());
    int port = port(exchange.parameter("port"));
    PortLink link = ports.link(exchange.caller(), sandbox, port, Duration.ofSeconds(seconds));
    String path = Apps.path(sandbox, port, link.token());
    exchange.json(
        201, new View(address.of(exchange) + path, path, port, link.expiresAt().toString()));
  }

  private static int port(String text) {
    try {
      return Integer.parseInt(text);
    } catch (NumberFormatException e) {
      throw SandboxException.invalid("port", "must be a number");
    }
  }

  /**
   * A link.
   *
   * @param path the same on this server, however it is addressed
   */
  record View(String url, String path, int port, String expiresAt) {}
}
