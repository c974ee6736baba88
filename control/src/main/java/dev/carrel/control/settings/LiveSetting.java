package dev.carrel.control.settings;

import dev.carrel.control.admission.QueueSettings;
import dev.carrel.control.sandbox.SandboxSettings;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One setting that can change while the server runs.
 *
 * @param name as in the API
 * @param kind of its values
 * @param min for numbers
 * @param max for numbers
 * @param reader its value
 * @param writer the values with another one
 */
public record LiveSetting(
    String name,
    Kind kind,
    double min,
    double max,
    Function<Values, Object> reader,
    BiFunction<Values, Object, Values> writer) {
  private static final long MAX_MB = 1L << 31;
  private static final long MAX_SECONDS = Duration.ofDays(3650).toSeconds();
  private static final int MANY = 1 << 20;

  static final List<LiveSetting> ALL =
      List.of(
          word("default_image", s -> s.defaultImage(), (draft, v) -> draft.defaultImage = v),
          whole("memory_mb", 16, MAX_MB, s -> s.memoryMb(), (draft, v) -> draft.memoryMb = v),
          decimal("cpu_cores", s -> s.cpuCores(), (draft, v) -> draft.cpuCores = v),
          whole("disk_mb", 1, MAX_MB, s -> s.diskMb(), (draft, v) -> draft.diskMb = v),
          whole("pids", 8, MANY, s -> (long) s.pids(), (draft, v) -> draft.pids = v.intValue()),
          seconds(
              "idle_timeout_seconds", s -> s.idleTimeout(), (draft, v) -> draft.idleTimeout = v),
          seconds(
              "max_idle_timeout_seconds",
              s -> s.maxIdleTimeout(),
              (draft, v) -> draft.maxIdleTimeout = v),
          seconds(
              "max_life_seconds",
              s -> s.life().maxLife(),
              (draft, v) -> draft.life = draft.life.withMaxLife(v)),
          seconds(
              "stopped_retention_seconds",
              s -> s.stoppedRetention(),
              (draft, v) -> draft.stoppedRetention = v),
          whole(
              "max_memory_mb",
              16,
              MAX_MB,
              s -> s.maxMemoryMb(),
              (draft, v) -> draft.maxMemoryMb = v),
          decimal("max_cpu_cores", s -> s.maxCpuCores(), (draft, v) -> draft.maxCpuCores = v),
          whole("max_disk_mb", 1, MAX_MB, s -> s.maxDiskMb(), (draft, v) -> draft.maxDiskMb = v),
          whole(
              "max_pids",
              8,
              MANY,
              s -> (long) s.maxPids(),
              (draft, v) -> draft.maxPids = v.intValue()),
          whole(
              "max_sandboxes",
              1,
              MANY,
              s -> (long) s.maxSandboxes(),
              (draft, v) -> draft.maxSandboxes = v.intValue()),
          whole(
              "default_max_per_user",
              1,
              MANY,
              s -> (long) s.maxSandboxesPerTenant(),
              (draft, v) -> draft.maxSandboxesPerTenant = v.intValue()),
          flag(
              "evict_when_full",
              values -> values.sandboxes().life().evictWhenFull(),
              (values, v) ->
                  sandboxes(values, draft -> draft.life = draft.life.withEvictWhenFull(v))),
          flag(
              "warm_pool_enabled",
              Values::pools,
              (values, v) -> new Values(values.sandboxes(), values.queue(), v)),
          queue("max_concurrent_creates", q -> q.maxCreates(), QueueSettings::withMaxCreates),
          queue(
              "max_concurrent_executions",
              q -> q.maxExecutions(),
              QueueSettings::withMaxExecutions),
          queue("max_queued", q -> q.maxWaiting(), QueueSettings::withMaxWaiting));

  static LiveSetting named(String name) {
    return ALL.stream()
        .filter(setting -> setting.name.equals(name))
        .findFirst()
        .orElseThrow(() -> SandboxException.invalid(name, "is not a setting"));
  }

  Object read(Values values) {
    return reader.apply(values);
  }

  /** The values with another one of this; throws when it cannot be that. */
  Values write(Values values, Object value) {
    switch (kind) {
      case WHOLE -> {
        if (!(value instanceof Long number) || number < min || number > max) {
          throw wrong("must be a whole number between %d and %d".formatted((long) min, (long) max));
        }
      }
      case DECIMAL -> {
        if (!(value instanceof Double number) || !(number >= min && number <= max)) {
          throw wrong("must be a number between %s and %s".formatted(min, max));
        }
      }
      case FLAG -> {
        if (!(value instanceof Boolean)) {
          throw wrong("must be true or false");
        }
      }
      case WORD -> {
        if (!(value instanceof String)) {
          throw wrong("must be a string");
        }
      }
    }
    return writer.apply(values, value);
  }

  Object parse(String stored) {
    return switch (kind) {
      case WHOLE -> Long.valueOf(stored);
      case DECIMAL -> Double.valueOf(stored);
      case FLAG -> Boolean.valueOf(stored);
      case WORD -> stored;
    };
  }

  private SandboxException wrong(String message) {
    return SandboxException.invalid(name, message);
  }

  private static LiveSetting whole(
      String name,
      long min,
      long max,
      Function<SandboxSettings, Long> reader,
      Change<Long> change) {
    return new LiveSetting(
        name,
        Kind.WHOLE,
        min,
        max,
        values -> reader.apply(values.sandboxes()),
        (values, v) -> sandboxes(values, draft -> change.on(draft, (Long) v)));
  }

  private static LiveSetting seconds(
      String name, Function<SandboxSettings, Duration> reader, Change<Duration> change) {
    return whole(
        name,
        0,
        MAX_SECONDS,
        settings -> reader.apply(settings).toSeconds(),
        (draft, v) -> change.on(draft, Duration.ofSeconds(v)));
  }

  private static LiveSetting decimal(
      String name, Function<SandboxSettings, Double> reader, Change<Double> change) {
    return new LiveSetting(
        name,
        Kind.DECIMAL,
        0.01,
        1024,
        values -> reader.apply(values.sandboxes()),
        (values, v) -> sandboxes(values, draft -> change.on(draft, (Double) v)));
  }

  private static LiveSetting word(
      String name, Function<SandboxSettings, String> reader, Change<String> change) {
    return new LiveSetting(
        name,
        Kind.WORD,
        0,
        0,
        values -> reader.apply(values.sandboxes()),
        (values, v) -> sandboxes(values, draft -> change.on(draft, (String) v)));
  }

  private static LiveSetting flag(
      String name, Function<Values, Boolean> reader, BiFunction<Values, Boolean, Values> writer) {
    return new LiveSetting(
        name, Kind.FLAG, 0, 0, reader::apply, (values, v) -> writer.apply(values, (Boolean) v));
  }

  private static LiveSetting queue(
      String name,
      Function<QueueSettings, Integer> reader,
      BiFunction<QueueSettings, Integer, QueueSettings> writer) {
    return new LiveSetting(
        name,
        Kind.WHOLE,
        1,
        MANY,
        values -> (long) reader.apply(values.queue()),
        (values, v) ->
            new Values(
                values.sandboxes(),
                writer.apply(values.queue(), ((Long) v).intValue()),
                values.pools()));
  }

  private static Values sandboxes(Values values, Consumer<SandboxSettings.Draft> change) {
    return new Values(values.sandboxes().with(change), values.queue(), values.pools());
  }

  /** What its values are. */
  public enum Kind {
    WHOLE,
    DECIMAL,
    FLAG,
    WORD
  }

  private interface Change<T> {
    void on(SandboxSettings.Draft draft, T value);
  }
}
