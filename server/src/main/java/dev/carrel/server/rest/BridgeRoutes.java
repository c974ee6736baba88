package dev.carrel.server.rest;

import dev.carrel.control.bridge.Bridge;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Router;
import dev.carrel.spi.Language;
import java.io.IOException;

/** Values from one interpreter to another. */
final class BridgeRoutes {
  private final Bridge bridge;

  BridgeRoutes(Bridge bridge) {
    this.bridge = bridge;
  }

  void addTo(Router router) {
    router.post("/api/v1/sandboxes/{id}/bridge", this::carry);
  }

  private void carry(Exchange exchange) throws IOException, InterruptedException {
    BridgeRequest request =
        BridgeRequest.parse(Ids.sandbox(exchange), Language.PYTHON, exchange.fields());
    exchange.cancelWhenClientLeaves();
    BridgeRequest.View done = request.run(bridge, exchange.caller());
    exchange.settle();
    exchange.json(200, done);
  }
}
