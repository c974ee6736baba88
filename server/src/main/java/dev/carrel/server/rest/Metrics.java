package dev.carrel.server.rest;

import dev.carrel.control.Control;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.control.telemetry.Telemetry;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The numbers of this server, for Prometheus. */
final class Metrics {
  private static final double NANOS = 1e9;

  private final Control control;
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Set<String> known = ConcurrentHashMap.newKeySet();
  private volatile Map<String, Telemetry.Value> telemetry = Map.of();
  private volatile Map<SandboxStatus, Long> sandboxes = Map.of();

  Metrics(Control control) {
    this.control = control;
    new ClassLoaderMetrics().bindTo(registry);
    new JvmMemoryMetrics().bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    new UptimeMetrics().bindTo(registry);
    for (SandboxStatus status : SandboxStatus.visible()) {
      Gauge.builder("carrel.sandboxes", () -> sandboxes.getOrDefault(status, 0L))
          .description("Sandboxes by status, as far as the asking caller may see them")
          .tag("status", status.wireName())
          .register(registry);
    }
  }

  MeterRegistry registry() {
    return registry;
  }

  String scrape(Caller caller) {
    Map<SandboxStatus, Long> seen =
        control.sandboxes().list(caller, SandboxQuery.all()).statusCounts();
    Map<String, Telemetry.Value> events = control.telemetry().snapshot();
    return scrape(seen, events) + Exposition.of(control.telemetry().gauges(), events);
  }

  // One at a time: the registry asks for these numbers while it writes, and must not find those
  // that another caller may see.
  private synchronized String scrape(
      Map<SandboxStatus, Long> seen, Map<String, Telemetry.Value> events) {
    sandboxes = seen;
    telemetry = events;
    events.forEach(
        (name, value) -> {
          if (known.add(name)) {
            count(name);
          }
          if (value.nanos() > 0 && known.add(name + " seconds")) {
            seconds(name);
          }
        });
    return registry.scrape();
  }

  // One family with a tag: some names that control uses are endings that Prometheus reserves.
  private void count(String name) {
    FunctionCounter.builder("carrel.events", this, metrics -> metrics.value(name).count())
        .description("What control has counted")
        .tag("event", name)
        .register(registry);
  }

  private void seconds(String name) {
    FunctionCounter.builder(
            "carrel.events.seconds", this, metrics -> metrics.value(name).nanos() / NANOS)
        .description("Time that these events took together")
        .tag("event", name)
        .register(registry);
  }

  private Telemetry.Value value(String name) {
    return telemetry.getOrDefault(name, new Telemetry.Value(0, 0, List.of()));
  }
}
