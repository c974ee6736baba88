package dev.carrel.server.http;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.spi.Text;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts, times and logs requests. A line has the route's template, never the path, query or
 * headers: those can hold secrets.
 */
public final class RequestLog {
  private static final Logger LOG = LoggerFactory.getLogger("carrel.access");
  private static final Duration[] BUCKETS = {
    Duration.ofNanos(500_000),
    Duration.ofMillis(1),
    Duration.ofMillis(5),
    Duration.ofMillis(25),
    Duration.ofMillis(100),
    Duration.ofMillis(500),
    Duration.ofSeconds(2),
    Duration.ofSeconds(10),
    Duration.ofSeconds(60)
  };

  private final MeterRegistry registry;

  public RequestLog(MeterRegistry registry) {
    this.registry = registry;
  }

  void record(Exchange exchange, String method, long nanos) {
    Router.Match match = exchange.match();
    Route route = match == null ? null : match.route();
    timer(route, exchange.status()).record(nanos, TimeUnit.NANOSECONDS);
    if (!LOG.isInfoEnabled()) {
      return;
    }
    var line =
        LOG.atInfo()
            .addKeyValue(
                "method",
                route == null || method.equals("HEAD") ? printable(method) : route.method())
            .addKeyValue("route", route == null ? "none" : route.template())
            .addKeyValue("status", exchange.status())
            .addKeyValue("micros", nanos / 1000)
            .addKeyValue("request_id", exchange.requestId());
    if (match != null && match.parameters().containsKey("id")) {
      line = line.addKeyValue("sandbox", printable(match.parameters().get("id")));
    }
    Caller caller = exchange.knownCaller().orElse(null);
    if (caller != null) {
      line =
          line.addKeyValue("tenant", printable(caller.tenant()))
              .addKeyValue("principal", printable(caller.principal()));
    }
    line.log("request");
  }

  private static String printable(String text) {
    return Text.printable(text, 64);
  }

  private Timer timer(@Nullable Route route, int status) {
    if (route == null) {
      return make("none", "none", status);
    }
    int slot = Math.clamp(status / 100, 0, 5);
    if (route.meters().get(slot) instanceof Timer timer) {
      return timer;
    }
    Timer timer = make(route.method(), route.template(), status);
    route.meters().set(slot, timer);
    return timer;
  }

  private Timer make(String method, String template, int status) {
    return Timer.builder("carrel.http.requests")
        .description("Requests by route and class of answer")
        .tag("method", method)
        .tag("route", template)
        .tag("status", status / 100 + "xx")
        .serviceLevelObjectives(BUCKETS)
        .register(registry);
  }
}
