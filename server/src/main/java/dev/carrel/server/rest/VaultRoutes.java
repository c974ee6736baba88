package dev.carrel.server.rest;

import dev.carrel.control.vault.Secret;
import dev.carrel.control.vault.Vault;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Secrets: their values come in here, and never go out. */
final class VaultRoutes {
  private static final String ALL = "/api/v1/vault/secrets";
  private static final String ONE = ALL + "/{name}";

  private final Vault vault;

  VaultRoutes(Vault vault) {
    this.vault = vault;
  }

  void addTo(Router router) {
    router
        .post(ALL, this::add)
        .get(ALL, this::list)
        .delete(ONE, this::delete)
        .post(ONE + "/rotate", this::rotate);
  }

  private void add(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    Secret made =
        vault.add(
            exchange.caller(),
            fields.string("namespace"),
            fields.requiredString("name"),
            fields.requiredString("value"),
            fields.bool("canary", false),
            fields.words("hosts").orElse(List.of()));
    exchange.json(201, View.of(made));
  }

  private void list(Exchange exchange) {
    exchange.json(
        200,
        new Page(
            vault.list(exchange.caller(), namespace(exchange)).stream().map(View::of).toList()));
  }

  private void delete(Exchange exchange) {
    vault.delete(exchange.caller(), namespace(exchange), exchange.parameter("name"));
    exchange.noContent();
  }

  private void rotate(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    exchange.json(
        200,
        View.of(
            vault.rotate(
                exchange.caller(),
                fields.string("namespace"),
                exchange.parameter("name"),
                fields.requiredString("value"))));
  }

  private static @Nullable String namespace(Exchange exchange) {
    return exchange.query().text("namespace").orElse(null);
  }

  record Page(List<View> secrets) {}

  record View(
      String namespace,
      String name,
      long version,
      boolean canary,
      List<String> hosts,
      String source,
      @Nullable String createdAt,
      @Nullable String updatedAt) {
    static View of(Secret secret) {
      return new View(
          secret.namespace(),
          secret.name(),
          secret.version(),
          secret.canary(),
          secret.hosts(),
          secret.source().wireName(),
          text(secret.createdAt()),
          text(secret.updatedAt()));
    }

    private static @Nullable String text(@Nullable Instant time) {
      return time == null ? null : time.toString();
    }
  }
}
