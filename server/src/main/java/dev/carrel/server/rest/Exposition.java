package dev.carrel.server.rest;

import dev.carrel.control.telemetry.Telemetry;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Control's values and distributions of times in the text format of Prometheus. */
final class Exposition {
  private static final double NANOS = 1e9;
  private static final String DURATION = "carrel_duration_seconds";

  private final StringBuilder out = new StringBuilder();

  private Exposition() {}

  static String of(List<Telemetry.Gauge> gauges, Map<String, Telemetry.Value> meters) {
    var exposition = new Exposition();
    gauges.stream()
        .collect(Collectors.groupingBy(Telemetry.Gauge::name, TreeMap::new, Collectors.toList()))
        .forEach(exposition::gauges);
    exposition.durations(meters);
    return exposition.out.toString();
  }

  private void gauges(String name, List<Telemetry.Gauge> gauges) {
    out.append("# TYPE carrel_").append(name).append(" gauge\n");
    for (Telemetry.Gauge gauge : gauges) {
      line("carrel_" + name, label(gauge.label(), gauge.labelValue()), gauge.value().getAsLong());
    }
  }

  private void durations(Map<String, Telemetry.Value> meters) {
    List<Entry<String, Telemetry.Value>> timed =
        meters.entrySet().stream().filter(meter -> !meter.getValue().buckets().isEmpty()).toList();
    if (timed.isEmpty()) {
      return;
    }
    out.append("# HELP ").append(DURATION).append(" How long these events took\n");
    out.append("# TYPE ").append(DURATION).append(" histogram\n");
    timed.forEach(meter -> duration(label("event", meter.getKey()), meter.getValue()));
  }

  private void duration(String event, Telemetry.Value value) {
    long sum = 0;
    for (int i = 0; i < value.buckets().size(); i++) {
      sum += value.buckets().get(i);
      boolean last = i == Telemetry.BOUNDS.size();
      String bound = last ? "+Inf" : Double.toString(Telemetry.BOUNDS.get(i).toNanos() / NANOS);
      line(DURATION + "_bucket", event + "," + label("le", bound), sum);
    }
    out.append(DURATION).append("_sum{").append(event).append("} ");
    out.append(value.nanos() / NANOS).append('\n');
    line(DURATION + "_count", event, sum);
  }

  private void line(String name, String labels, long value) {
    out.append(name).append('{').append(labels).append("} ").append(value).append('\n');
  }

  // Names and values are our own words: nothing to escape.
  private static String label(String name, String value) {
    return name + "=\"" + value + "\"";
  }
}
