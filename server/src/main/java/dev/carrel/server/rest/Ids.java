package dev.carrel.server.rest;

import dev.carrel.server.http.Exchange;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxId;

/** The ids in a path. */
final class Ids {
  private Ids() {}

  static SandboxId sandbox(Exchange exchange) {
    return new SandboxId(exchange.parameter("id"));
  }

  static ExecId exec(Exchange exchange) {
    return new ExecId(exchange.parameter("eid"));
  }

  static ContextId context(Exchange exchange) {
    return new ContextId(exchange.parameter("cid"));
  }
}
