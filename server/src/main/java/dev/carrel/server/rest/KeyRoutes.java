package dev.carrel.server.rest;

import dev.carrel.control.access.ApiKey;
import dev.carrel.control.access.ApiKeys;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Keys for clients, of which the server keeps no copy. */
final class KeyRoutes {
  private static final String ALL = "/api/v1/keys";

  private final ApiKeys keys;

  KeyRoutes(ApiKeys keys) {
    this.keys = keys;
  }

  void addTo(Router router) {
    router.post(ALL, this::issue).get(ALL, this::list).delete(ALL + "/{key}", this::delete);
  }

  private void issue(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    Caller caller = exchange.caller();
    var owner =
        new Caller(
            fields.string("tenant", caller.tenant()),
            fields.string("principal", caller.principal()),
            role(fields),
            Caller.Permission.parse(fields.words("permissions").orElse(List.of())));
    ApiKey.Issued issued = keys.issue(caller, fields.requiredString("name"), owner);
    exchange.json(201, View.of(issued.key(), issued.secret()));
  }

  private static Caller.Role role(Fields fields) {
    return switch (fields.string("role", "user")) {
      case "user" -> Caller.Role.USER;
      case "admin" -> Caller.Role.ADMIN;
      default -> throw fields.wrong("role", "must be user or admin");
    };
  }

  private void list(Exchange exchange) {
    exchange.json(
        200,
        new Page(keys.list(exchange.caller()).stream().map(key -> View.of(key, null)).toList()));
  }

  private void delete(Exchange exchange) {
    keys.delete(exchange.caller(), exchange.parameter("key"));
    exchange.noContent();
  }

  record Page(List<View> keys) {}

  /**
   * A key.
   *
   * @param key itself, when it was made just now
   */
  record View(
      String id,
      String name,
      String tenant,
      String principal,
      String role,
      List<String> permissions,
      String mask,
      String createdBy,
      String createdAt,
      @Nullable String key) {
    static View of(ApiKey key, @Nullable String secret) {
      return new View(
          key.id(),
          key.name(),
          key.caller().tenant(),
          key.caller().principal(),
          key.caller().role().name().toLowerCase(Locale.ROOT),
          key.caller().permissions().stream().map(Caller.Permission::wireName).sorted().toList(),
          key.mask(),
          key.createdBy(),
          key.createdAt().toString(),
          secret);
    }
  }
}
