package dev.carrel.control.settings;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.SandboxSettings;
import dev.carrel.control.store.Database;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The settings as they are now: what the operator configured, and over it what an administrator
 * changed since, which is stored and wins. Reading costs nothing. Safe for many threads.
 */
public final class LiveSettings {
  private static final Logger LOG = LoggerFactory.getLogger(LiveSettings.class);

  /** What a sandbox has when it does not say, and the most that it may ask for. */
  private static final Map<String, String> BOUNDS =
      Map.of(
          "memory_mb", "max_memory_mb",
          "cpu_cores", "max_cpu_cores",
          "disk_mb", "max_disk_mb",
          "pids", "max_pids",
          "idle_timeout_seconds", "max_idle_timeout_seconds");

  private final Database database;
  private final Audit audit;
  private final Values configured;
  private final List<BiConsumer<Values, Values>> listeners = new CopyOnWriteArrayList<>();
  private final Map<String, Object> changed = new TreeMap<>();
  private volatile Values current;
  private volatile Predicate<String> images = _ -> false;

  public LiveSettings(Database database, Audit audit, Values configured) {
    this.database = database;
    this.audit = audit;
    this.configured = configured;
    this.current = configured;
    stored().forEach(this::restore);
    BOUNDS.forEach(this::bound);
    this.current = apply(changed);
  }

  /** What else may be the default image, beside those of the settings. */
  public void images(Predicate<String> known) {
    images = known;
  }

  public Values current() {
    return current;
  }

  public SandboxSettings sandboxes() {
    return current.sandboxes();
  }

  /**
   * Called with the old and the new values after each change.
   *
   * @param listener must be quick
   */
  public void listen(BiConsumer<Values, Values> listener) {
    listeners.add(listener);
  }

  public synchronized List<Entry> list() {
    Values now = current;
    return LiveSetting.ALL.stream()
        .map(
            setting ->
                new Entry(
                    setting,
                    setting.read(now),
                    setting.read(configured),
                    changed.containsKey(setting.name())))
        .toList();
  }

  /**
   * Changes all of these or none, for good.
   *
   * @param changes by name; null: as configured again
   */
  public synchronized List<Entry> change(Caller caller, Map<String, @Nullable Object> changes) {
    requireAdmin(caller);
    var next = new TreeMap<>(changed);
    changes.forEach(
        (name, value) -> {
          LiveSetting setting = LiveSetting.named(name);
          if (value == null) {
            next.remove(name);
          } else {
            setting.write(configured, value);
            next.put(name, value);
          }
        });
    Values values = apply(next);
    check(values);
    store(caller, changes);
    changed.clear();
    changed.putAll(next);
    Values before = current;
    current = values;
    listeners.forEach(listener -> listener.accept(before, values));
    return list();
  }

  /** Everything as configured again. */
  public synchronized List<Entry> reset(Caller caller) {
    var changes = new TreeMap<String, @Nullable Object>();
    changed.keySet().forEach(name -> changes.put(name, null));
    return change(caller, changes);
  }

  private static void requireAdmin(Caller caller) {
    if (caller.role() != Caller.Role.ADMIN) {
      throw new SandboxException(
              ErrorCode.FORBIDDEN, "only an administrator may see or change settings")
          .withHint("use the token of the server's own token file");
    }
  }

  private Values apply(Map<String, Object> over) {
    Values values = configured;
    for (Map.Entry<String, Object> entry : over.entrySet()) {
      values = LiveSetting.named(entry.getKey()).write(values, entry.getValue());
    }
    return values;
  }

  /** What no single setting shows. */
  private void check(Values values) {
    SandboxSettings s = values.sandboxes();
    atMost("memory_mb", s.memoryMb(), "max_memory_mb", s.maxMemoryMb());
    atMost("cpu_cores", s.cpuCores(), "max_cpu_cores", s.maxCpuCores());
    atMost("disk_mb", s.diskMb(), "max_disk_mb", s.maxDiskMb());
    atMost("pids", s.pids(), "max_pids", s.maxPids());
    atMost(
        "idle_timeout_seconds",
        s.idleTimeout().toSeconds(),
        "max_idle_timeout_seconds",
        s.maxIdleTimeout().toSeconds());
    String image = s.defaultImage();
    if (!image.equals(SandboxSettings.HOST_IMAGE)
        && !s.images().containsKey(image)
        && !images.test(image)) {
      throw SandboxException.invalid("default_image", "is not an image of this server");
    }
  }

  private static <T extends Comparable<T>> void atMost(String name, T value, String bound, T most) {
    if (value.compareTo(most) > 0) {
      throw SandboxException.invalid(name, "must be at most " + bound + ", which is " + most);
    }
  }

  private void store(Caller caller, Map<String, @Nullable Object> changes) {
    database.write(
        handle -> {
          changes.forEach(
              (name, value) -> {
                if (value == null) {
                  handle.execute("DELETE FROM setting WHERE name = ?", name);
                } else {
                  handle.execute(
                      "INSERT INTO setting (name, value, changed_at, changed_by)"
                          + " VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET"
                          + " value = excluded.value, changed_at = excluded.changed_at,"
                          + " changed_by = excluded.changed_by",
                      name,
                      value.toString(),
                      Instant.now().toEpochMilli(),
                      caller.principal());
                }
              });
          audit.append(
              handle,
              AuditEntry.of(AuditEntry.Who.of(caller), "settings.change", AuditEntry.Outcome.OK)
                  .withDetails(told(changes)));
          return null;
        });
  }

  private static Map<String, String> told(Map<String, @Nullable Object> changes) {
    var told = new TreeMap<String, String>();
    changes.forEach(
        (name, value) -> told.put(name, value == null ? "as configured" : value.toString()));
    return told;
  }

  private List<Map.Entry<String, String>> stored() {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT name, value FROM setting ORDER BY name")
                .map((row, _) -> Map.entry(row.getString("name"), row.getString("value")))
                .list());
  }

  /** A later configuration may contradict it, or an older server not know it. */
  private void restore(Map.Entry<String, String> row) {
    try {
      LiveSetting setting = LiveSetting.named(row.getKey());
      Object value = setting.parse(row.getValue());
      Values values = setting.write(current, value);
      changed.put(setting.name(), value);
      current = values;
    } catch (SandboxException | NumberFormatException e) {
      LOG.warn("the stored setting {} is left aside: {}", row.getKey(), e.getMessage());
    }
  }

  /**
   * Each was checked when it was changed, and then the configuration changed: with a default beyond
   * its bound whoever asks for nothing would be refused, and every further change.
   */
  private void bound(String name, String bound) {
    Object most = LiveSetting.named(bound).read(current);
    Object value = LiveSetting.named(name).read(current);
    if (((Number) value).doubleValue() > ((Number) most).doubleValue()) {
      LOG.warn("{} is {} and not {}: more than {} nobody may have", name, most, value, bound);
      changed.put(name, most);
    }
  }

  /**
   * One setting.
   *
   * @param configured what it is without a change
   * @param stored whether an administrator changed it
   */
  public record Entry(LiveSetting setting, Object value, Object configured, boolean stored) {}
}
