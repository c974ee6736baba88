package dev.carrel.server.rest;

import dev.carrel.control.egress.CountedDecision;
import dev.carrel.control.egress.Egress;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.egress.Decision;
import dev.carrel.egress.HostPattern;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What sandboxes may reach. */
final class EgressRoutes {
  private static final String ONE = "/api/v1/sandboxes/{id}/egress";
  // Less would make every byte a wait of its own.
  private static final long LEAST_PACE = 1024;

  private static final Duration MAX_LIFE = Duration.ofHours(4);

  private final Egress egress;

  EgressRoutes(Egress egress) {
    this.egress = egress;
  }

  void addTo(Router router) {
    router
        .get(ONE, this::show)
        .put(ONE, this::set)
        .get(ONE + "/decisions", this::decisions)
        .post(ONE + "/tokens", this::access)
        .get("/api/v1/egress/presets", this::presets);
  }

  private void show(Exchange exchange) {
    exchange.json(200, EgressView.of(egress.show(exchange.caller(), Ids.sandbox(exchange))));
  }

  private void set(Exchange exchange) throws IOException {
    Policy policy = policy(exchange.requiredFields());
    exchange.json(200, EgressView.of(egress.set(exchange.caller(), Ids.sandbox(exchange), policy)));
  }

  private void decisions(Exchange exchange) {
    exchange.json(
        200,
        new DecisionList(
            egress.decisions(exchange.caller(), Ids.sandbox(exchange)).stream()
                .map(DecisionView::of)
                .toList()));
  }

  private void access(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    Long seconds = fields.wholeNumber("ttl_seconds", 1, MAX_LIFE.toSeconds());
    List<HostPattern> hosts =
        fields.words("hosts").isEmpty() ? null : list(fields, "hosts", HostPattern::parse);
    Duration life = seconds == null ? MAX_LIFE : Duration.ofSeconds(seconds);
    Egress.Access access = egress.access(exchange.caller(), Ids.sandbox(exchange), hosts, life);
    exchange.json(201, new AccessView(access.address(), access.expiresAt().toString()));
  }

  private void presets(Exchange exchange) {
    var presets = new TreeMap<String, List<String>>();
    egress
        .presets()
        .forEach((name, rules) -> presets.put(name, rules.stream().map(Rule::toString).toList()));
    exchange.json(200, new PresetList(presets));
  }

  /** The fields {@code network} and {@code network_enabled}. */
  static CreateSandbox.Network network(Fields fields) {
    Fields policy = fields.object("network");
    return new CreateSandbox.Network(
        fields.bool("network_enabled"), policy == null ? null : policy(policy));
  }

  private static Policy policy(Fields fields) {
    String mode = fields.string("mode", "enforce");
    Long maxBytes = fields.wholeNumber("max_bytes", 0, Long.MAX_VALUE);
    Long pace = fields.wholeNumber("bytes_per_second", 0, Long.MAX_VALUE);
    if (pace != null && pace > 0 && pace < LEAST_PACE) {
      throw fields.wrong("bytes_per_second", "must be 0 (no limit) or at least " + LEAST_PACE);
    }
    return read(
        fields,
        "allow",
        _ ->
            new Policy(
                read(fields, "mode", _ -> Policy.Mode.parse(mode)),
                list(fields, "allow", Rule::parse),
                list(fields, "deny", HostPattern::parse),
                Set.copyOf(fields.words("presets").orElse(List.of())),
                maxBytes == null ? 0 : maxBytes,
                pace == null ? 0 : pace));
  }

  private static <T> List<T> list(Fields fields, String name, Function<String, T> parse) {
    return read(
        fields, name, _ -> fields.words(name).orElse(List.of()).stream().map(parse).toList());
  }

  private static <T> T read(Fields fields, String name, Function<String, T> parse) {
    try {
      return parse.apply(name);
    } catch (IllegalArgumentException e) {
      throw fields.wrong(name, String.valueOf(e.getMessage()));
    }
  }

  record PolicyView(
      String mode,
      List<String> allow,
      List<String> deny,
      Set<String> presets,
      long maxBytes,
      long bytesPerSecond) {
    static PolicyView of(Policy policy) {
      return new PolicyView(
          policy.mode().wireName(),
          policy.allow().stream().map(Rule::toString).toList(),
          policy.deny().stream().map(HostPattern::toString).toList(),
          new TreeSet<>(policy.presets()),
          policy.maxBytes(),
          policy.bytesPerSecond());
    }
  }

  record EgressView(
      PolicyView policy,
      List<String> granted,
      long sentBytes,
      long receivedBytes,
      PolicyView draft) {
    static EgressView of(Egress.State state) {
      return new EgressView(
          PolicyView.of(state.policy()),
          state.granted().stream().map(Rule::toString).toList(),
          state.sent(),
          state.received(),
          PolicyView.of(state.draft()));
    }
  }

  record AccessView(String proxyUrl, String expiresAt) {}

  record DecisionList(List<DecisionView> decisions) {}

  record PresetList(Map<String, List<String>> presets) {}

  record DecisionView(
      String outcome,
      String protocol,
      String host,
      int port,
      @Nullable String method,
      @Nullable String path,
      @Nullable String reason,
      @Nullable String rule,
      String detail,
      long count,
      String firstAt,
      String lastAt) {
    static DecisionView of(CountedDecision counted) {
      Decision decision = counted.last();
      return new DecisionView(
          decision.outcome().name().toLowerCase(Locale.ROOT),
          decision.protocol(),
          decision.host(),
          decision.port(),
          decision.method(),
          decision.path(),
          decision.reason() == null ? null : decision.reason().wireName(),
          decision.rule(),
          decision.detail(),
          counted.count(),
          counted.first().toString(),
          decision.at().toString());
    }
  }
}
