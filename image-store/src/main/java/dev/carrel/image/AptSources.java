package dev.carrel.image;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Where this host gets its distribution's packages from. Other sources that it has are left out: an
 * image has nothing that its recipe does not name.
 *
 * @param codename of the distribution's release, for example {@code bookworm}
 * @param lines in the one-line form of {@code sources.list}
 */
record AptSources(String codename, List<String> lines) {
  private static final Pattern LINE = Pattern.compile("deb\\s+(?:\\[([^]]*)]\\s*)?(\\S+)\\s+(.+)");
  private static final Pattern SIGNED_BY = Pattern.compile("signed-by=([^\\s\\]]+)");

  AptSources {
    lines = List.copyOf(lines);
  }

  /**
   * @param etc the host's /etc
   */
  static AptSources of(Path etc) throws IOException {
    String codename = codename(etc.resolve("os-release"));
    var lines = new ArrayList<String>();
    var files = new ArrayList<Path>();
    files.add(etc.resolve("apt/sources.list"));
    Path more = etc.resolve("apt/sources.list.d");
    if (Files.isDirectory(more)) {
      try (Stream<Path> list = Files.list(more)) {
        list.sorted().forEach(files::add);
      }
    }
    for (Path file : files) {
      String name = String.valueOf(file.getFileName());
      if (!Files.isRegularFile(file)) {
        continue;
      }
      if (name.endsWith(".sources")) {
        paragraphs(Files.readString(file), codename, lines);
      } else if (name.endsWith(".list")) {
        plain(Files.readAllLines(file), codename, lines);
      }
    }
    if (codename.isEmpty() || lines.isEmpty()) {
      throw new IOException(
          "this host has no package sources of a Debian or Ubuntu release to build from");
    }
    return new AptSources(codename, lines);
  }

  /** As a file has them. */
  String text() {
    return String.join("\n", lines) + "\n";
  }

  /** The files that say who may sign, as far as the lines name any. */
  Set<Path> keys() {
    var files = new TreeSet<Path>();
    for (String line : lines) {
      SIGNED_BY
          .matcher(line)
          .results()
          .flatMap(found -> Arrays.stream(found.group(1).split(",", -1)))
          .filter(name -> name.startsWith("/"))
          .forEach(name -> files.add(Path.of(name)));
    }
    return files;
  }

  /** The same, with those files where others have put them. */
  AptSources signedBy(Map<Path, String> places) {
    return new AptSources(
        codename,
        lines.stream()
            .map(
                line ->
                    SIGNED_BY
                        .matcher(line)
                        .replaceAll(
                            found ->
                                Matcher.quoteReplacement(
                                    "signed-by=" + moved(found.group(1), places))))
            .toList());
  }

  private static String moved(String names, Map<Path, String> places) {
    return Arrays.stream(names.split(",", -1))
        .map(name -> name.startsWith("/") ? places.getOrDefault(Path.of(name), name) : name)
        .collect(Collectors.joining(","));
  }

  /** The same suites as a snapshot has them. */
  AptSources at(Snapshot snapshot) {
    return new AptSources(codename, lines.stream().map(line -> at(snapshot, line)).toList());
  }

  private static String at(Snapshot snapshot, String line) {
    Matcher parts = LINE.matcher(line);
    if (!parts.matches()) {
      throw new IllegalStateException("not a line of sources.list: " + line);
    }
    String options = Objects.requireNonNullElse(parts.group(1), "").strip();
    // A snapshot is out of date by intention; who signed it is asked as ever.
    return "deb [%s] %s %s"
        .formatted(
            (options + " check-valid-until=no").strip(),
            snapshot.of(String.valueOf(parts.group(2))),
            parts.group(3));
  }

  private static String codename(Path release) throws IOException {
    for (String line : Files.readAllLines(release)) {
      if (line.startsWith("VERSION_CODENAME=")) {
        return line.substring("VERSION_CODENAME=".length()).replace("\"", "").strip();
      }
    }
    return "";
  }

  private static boolean ours(String suite, String codename) {
    return suite.equals(codename)
        || suite.equals(codename + "-updates")
        || suite.equals(codename + "-security");
  }

  private static void plain(List<String> file, String codename, List<String> lines) {
    for (String line : file) {
      List<String> words = words(line.replaceFirst("\\[[^]]*]", ""));
      if (words.size() >= 4 && words.getFirst().equals("deb") && ours(words.get(2), codename)) {
        lines.add(line.strip());
      }
    }
  }

  private static void paragraphs(String file, String codename, List<String> lines) {
    for (String paragraph : file.split("\n\\s*\n", -1)) {
      Map<String, String> fields = fields(paragraph);
      String key = Objects.requireNonNullElse(fields.get("Signed-By"), "");
      String option = key.startsWith("/") ? "[signed-by=" + key + "] " : "";
      if (!words(fields.getOrDefault("Types", "")).contains("deb")
          || fields.getOrDefault("Enabled", "yes").equals("no")) {
        continue;
      }
      for (String address : words(fields.getOrDefault("URIs", ""))) {
        for (String suite : words(fields.getOrDefault("Suites", ""))) {
          if (ours(suite, codename)) {
            String components = fields.getOrDefault("Components", "main");
            lines.add("deb " + option + address + " " + suite + " " + components);
          }
        }
      }
    }
  }

  private static Map<String, String> fields(String paragraph) {
    var fields = new HashMap<String, String>();
    for (String line : paragraph.split("\n", -1)) {
      int colon = line.indexOf(':');
      if (colon > 0 && !line.startsWith("#") && !line.startsWith(" ")) {
        fields.put(line.substring(0, colon), line.substring(colon + 1).strip());
      }
    }
    return fields;
  }

  private static List<String> words(String text) {
    return Arrays.stream(text.strip().split("\\s+", -1)).filter(word -> !word.isEmpty()).toList();
  }
}
