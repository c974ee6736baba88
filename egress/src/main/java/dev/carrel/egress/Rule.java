package dev.carrel.egress;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What may be reached: {@code HOST[:PORT] [METHOD,…] [/PATH|/PATH*…]}. Without a port it means 80
 * and 443. Methods and paths can be seen in plain HTTP only, so a rule that names them lets no
 * tunnel through.
 *
 * @param methods empty: all
 * @param paths empty: all; one that ends in a star stands for all that begins with it
 */
public record Rule(HostPattern hosts, Set<String> methods, List<String> paths) {
  private static final Pattern METHODS = Pattern.compile("[A-Z]+(,[A-Z]+)*");
  private static final Pattern PATH = Pattern.compile("/[!-~&&[^*]]*\\*?");
  // A path that two readers would take apart differently matches no rule about paths.
  private static final Pattern DOUBTFUL =
      Pattern.compile("/\\.{1,2}(/|\\z)|//|\\\\|;|%2e|%2f|%5c|%25|%00", Pattern.CASE_INSENSITIVE);
  private static final int MAX_LENGTH = 1024;

  public Rule {
    methods = Set.copyOf(methods);
    paths = List.copyOf(paths);
  }

  /**
   * @throws IllegalArgumentException says what is wrong with it
   */
  public static Rule parse(String text) {
    if (text.length() > MAX_LENGTH) {
      throw new IllegalArgumentException("a rule has at most " + MAX_LENGTH + " characters");
    }
    List<String> words = Arrays.stream(text.strip().split(" +")).toList();
    var methods = new TreeSet<String>();
    var paths = new ArrayList<String>();
    for (String word : words.subList(1, words.size())) {
      String upper = word.toUpperCase(Locale.ROOT);
      if (PATH.matcher(word).matches()) {
        paths.add(word);
      } else if (paths.isEmpty() && methods.isEmpty() && METHODS.matcher(upper).matches()) {
        methods.addAll(Arrays.asList(upper.split(",")));
      } else {
        throw new IllegalArgumentException(
            "'%s' is neither methods such as GET,HEAD nor a path such as /v1/*"
                .formatted(Printable.of(word, 80)));
      }
    }
    return new Rule(HostPattern.parse(words.getFirst()), methods, paths);
  }

  static Rule of(HostPattern hosts) {
    return new Rule(hosts, Set.of(), List.of());
  }

  /** Whether it looks into requests. */
  boolean looksInside() {
    return !methods.isEmpty() || !paths.isEmpty();
  }

  /** Whether it is about this place, whatever is asked there. */
  boolean names(Target target) {
    return hosts.matches(target.host()) && suitsPort(target.port());
  }

  boolean suitsPort(int port) {
    return hosts.port() == 0 ? port == 80 || port == 443 : port == hosts.port();
  }

  boolean suitsMethod(@Nullable String method) {
    return methods.isEmpty() || (method != null && methods.contains(method));
  }

  /**
   * @param path without the query
   */
  boolean suitsPath(@Nullable String path) {
    if (paths.isEmpty()) {
      return true;
    }
    return path != null
        && !DOUBTFUL.matcher(path).find()
        && paths.stream()
            .anyMatch(
                rule ->
                    rule.endsWith("*")
                        ? path.startsWith(rule.substring(0, rule.length() - 1))
                        : path.equals(rule));
  }

  @Override
  public String toString() {
    var text = new StringBuilder(hosts.toString());
    if (!methods.isEmpty()) {
      text.append(' ').append(String.join(",", new TreeSet<>(methods)));
    }
    paths.forEach(path -> text.append(' ').append(path));
    return text.toString();
  }
}
