package dev.carrel.dist.config;

import dev.carrel.spi.DataSize;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The operator's settings from three places, the later winning: the file {@code carrel.properties},
 * variables ({@code CARREL_SERVER_PORT} is {@code server.port}), flags.
 *
 * <p>The records of this package read their keys from it; what no record has read is unknown and
 * {@link #requireAllKnown()} says so. One thread, at the start.
 */
final class Settings {
  private static final Pattern DURATION = Pattern.compile("(\\d+)\\s*(ms|s|m|h|d)");
  private static final Pattern SIZE = Pattern.compile("(\\d+)\\s*([KMG]i?B|B)?");

  private record Unit(String name, long millis) {}

  /** Largest first. */
  private static final List<Unit> UNITS =
      List.of(
          new Unit("d", 86_400_000),
          new Unit("h", 3_600_000),
          new Unit("m", 60_000),
          new Unit("s", 1000),
          new Unit("ms", 1));

  /** A value and the place it came from, for messages. */
  private record Entry(String value, String origin) {}

  private final Map<String, Entry> given = new LinkedHashMap<>();
  private final Map<String, String> variables;

  /** Each key that was read, with its default. */
  private final TreeMap<String, String> known = new TreeMap<>();

  private Settings(Map<String, String> variables) {
    this.variables = Map.copyOf(variables);
  }

  static Settings none() {
    return new Settings(Map.of());
  }

  /**
   * @param file read when it exists; a file that was asked for by name must exist, which is the
   *     caller's to check
   */
  static Settings of(
      Optional<Path> file, Map<String, String> variables, Map<String, String> flags) {
    var settings = new Settings(variables);
    file.ifPresent(settings::read);
    flags.forEach((key, value) -> settings.given.put(key, new Entry(value, "the command line")));
    return settings;
  }

  private void read(Path file) {
    var properties = new Properties();
    try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      properties.load(reader);
    } catch (IOException | IllegalArgumentException e) {
      throw new ConfigurationException("cannot read " + file + ": " + e.getMessage());
    }
    for (String key : properties.stringPropertyNames()) {
      given.put(key, new Entry(properties.getProperty(key).strip(), file.toString()));
    }
  }

  String text(String key, String otherwise) {
    return value(key, otherwise, "text", Optional::of).orElse(otherwise);
  }

  /** An empty one is none: so a flag takes back what a file sets. */
  Optional<Path> path(String key) {
    return value(key, "", "a path", text -> Optional.of(parsePath(text))).flatMap(path -> path);
  }

  boolean flag(String key, boolean otherwise) {
    return value(
            key,
            otherwise,
            "true or false",
            text ->
                switch (text.toLowerCase(Locale.ROOT)) {
                  case "true", "yes", "on", "1" -> Optional.of(true);
                  case "false", "no", "off", "0" -> Optional.of(false);
                  default -> Optional.empty();
                })
        .orElse(otherwise);
  }

  int number(String key, int otherwise, int min, int max) {
    return value(
            key,
            otherwise,
            "a whole number from " + min + " to " + max,
            text -> Optional.of(Integer.parseInt(text)).filter(n -> n >= min && n <= max))
        .orElse(otherwise);
  }

  double decimal(String key, double otherwise, double min, double max) {
    return value(
            key,
            otherwise,
            "a number from " + min + " to " + max,
            text -> Optional.of(Double.parseDouble(text)).filter(n -> n >= min && n <= max))
        .orElse(otherwise);
  }

  Duration duration(String key, Duration otherwise) {
    return value(
            key,
            format(otherwise),
            "a duration such as 500ms, 30s, 10m, 2h or 1d",
            Settings::parseDuration)
        .orElse(otherwise);
  }

  DataSize size(String key, DataSize otherwise) {
    return value(
            key,
            format(otherwise),
            "a size such as 4096, 64KiB, 512MiB or 2GiB",
            Settings::parseSize)
        .orElse(otherwise);
  }

  /** Words separated by commas or spaces. */
  List<String> list(String key, List<String> otherwise) {
    return value(
            key,
            String.join(",", otherwise),
            "a list",
            text ->
                Optional.of(
                    Arrays.stream(text.split("[,\\s]+")).filter(word -> !word.isEmpty()).toList()))
        .orElse(otherwise);
  }

  /** Words or whole sentences, separated by commas. */
  List<String> phrases(String key, List<String> otherwise) {
    return value(
            key,
            String.join(",", otherwise),
            "a list",
            text ->
                Optional.of(
                    Arrays.stream(text.split(",", -1))
                        .map(String::strip)
                        .filter(phrase -> !phrase.isEmpty())
                        .toList()))
        .orElse(otherwise);
  }

  <E extends Enum<E>> E choice(String key, E otherwise) {
    E[] choices = otherwise.getDeclaringClass().getEnumConstants();
    var names = Arrays.stream(choices).map(c -> c.name().toLowerCase(Locale.ROOT)).toList();
    return value(
            key,
            otherwise.name().toLowerCase(Locale.ROOT),
            "one of " + String.join(", ", names),
            text -> Arrays.stream(choices).filter(c -> c.name().equalsIgnoreCase(text)).findFirst())
        .orElse(otherwise);
  }

  /** Stops the start when a key was given that nobody reads. Call after every record was made. */
  void requireAllKnown() {
    for (var entry : given.entrySet()) {
      if (!known.containsKey(entry.getKey())) {
        throw new ConfigurationException(
            "unknown setting '%s' in %s%s"
                .formatted(entry.getKey(), entry.getValue().origin(), nearest(entry.getKey())));
      }
    }
    // Only variables of our own sections: CARREL_URL and its like are the command line's, and
    // Kubernetes adds CARREL_SERVICE_HOST by itself.
    var variableOf = new HashMap<String, String>();
    known.keySet().forEach(key -> variableOf.put(variable(key), key));
    for (String name : new TreeSet<>(variables.keySet())) {
      boolean ours =
          known.keySet().stream().anyMatch(key -> name.startsWith(variable(section(key)) + "_"));
      if (ours && !variableOf.containsKey(name)) {
        throw new ConfigurationException("unknown setting: the variable " + name + " means no key");
      }
    }
  }

  /** Every key that a record has read, with its default. */
  Map<String, String> knownKeys() {
    return Collections.unmodifiableSortedMap(known);
  }

  /** Every key that a record has read, as it is set. */
  List<Setting> all() {
    return known.entrySet().stream()
        .map(
            key -> {
              Optional<Entry> entry = find(key.getKey());
              return new Setting(
                  key.getKey(),
                  entry.map(Entry::value).orElse(key.getValue()),
                  key.getValue(),
                  entry.map(Entry::origin));
            })
        .toList();
  }

  private <T> Optional<T> value(
      String key, Object otherwise, String form, Function<String, Optional<T>> parse) {
    known.put(key, otherwise.toString());
    Optional<Entry> entry = find(key);
    if (entry.isEmpty()) {
      return Optional.empty();
    }
    String text = entry.get().value();
    Optional<T> parsed;
    try {
      parsed = parse.apply(text);
    } catch (IllegalArgumentException | ArithmeticException notOfThatForm) {
      parsed = Optional.empty();
    }
    if (parsed.isEmpty()) {
      throw new ConfigurationException(
          "%s must be %s, but is '%s' in %s".formatted(key, form, text, entry.get().origin()));
    }
    return parsed;
  }

  private Optional<Entry> find(String key) {
    Entry entry = given.get(key);
    if (entry != null && entry.origin().equals("the command line")) {
      return Optional.of(entry);
    }
    String variable = variables.get(variable(key));
    if (variable != null) {
      return Optional.of(new Entry(variable, "the variable " + variable(key)));
    }
    return Optional.ofNullable(entry);
  }

  private String nearest(String key) {
    return known.keySet().stream()
        .min(Comparator.comparingInt(candidate -> distance(candidate, key)))
        .filter(candidate -> distance(candidate, key) <= Math.max(2, key.length() / 3))
        .map(candidate -> "; did you mean '" + candidate + "'?")
        .orElse("");
  }

  private static String section(String key) {
    int dot = key.indexOf('.');
    return dot < 0 ? key : key.substring(0, dot);
  }

  private static String variable(String key) {
    return "CARREL_" + key.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
  }

  private static String format(Duration duration) {
    long millis = duration.toMillis();
    for (Unit unit : UNITS) {
      if (millis % unit.millis() == 0) {
        return millis / unit.millis() + unit.name();
      }
    }
    return millis + "ms";
  }

  private static String format(DataSize size) {
    for (int shift = 30; shift >= 10; shift -= 10) {
      if (size.bytes() > 0 && size.bytes() % (1L << shift) == 0) {
        return (size.bytes() >> shift) + "KMG".substring(shift / 10 - 1, shift / 10) + "iB";
      }
    }
    return Long.toString(size.bytes());
  }

  private static Optional<Path> parsePath(String text) {
    return text.isEmpty()
        ? Optional.empty()
        : Optional.of(Path.of(text).toAbsolutePath().normalize());
  }

  private static Optional<Duration> parseDuration(String text) {
    Matcher matcher = DURATION.matcher(text);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    long amount = Long.parseLong(matcher.group(1));
    return UNITS.stream()
        .filter(unit -> unit.name().equals(matcher.group(2)))
        .findFirst()
        .map(unit -> Duration.ofMillis(Math.multiplyExact(amount, unit.millis())));
  }

  private static Optional<DataSize> parseSize(String text) {
    Matcher matcher = SIZE.matcher(text);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    String unit = matcher.group(2) == null ? "B" : matcher.group(2);
    long factor =
        switch (unit.charAt(0)) {
          case 'K' -> 1L << 10;
          case 'M' -> 1L << 20;
          case 'G' -> 1L << 30;
          default -> 1L;
        };
    return Optional.of(new DataSize(Math.multiplyExact(Long.parseLong(matcher.group(1)), factor)));
  }

  /** Levenshtein's, with one row. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    Arrays.setAll(row, j -> j);
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int above = row[j];
        int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        row[j] = Math.min(replaced, 1 + Math.min(above, row[j - 1]));
        diagonal = above;
      }
    }
    return row[b.length()];
  }
}
