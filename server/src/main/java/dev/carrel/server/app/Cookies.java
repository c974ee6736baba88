package dev.carrel.server.app;

import dev.carrel.server.http.Exchange;
import io.helidon.http.HeaderNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Keeps cookies of an app apart from everybody else's. Browsers send cookies by host name and path,
 * whatever the port: on the shared origin an app's cookies get a mark, and only what has the mark
 * goes to the app.
 */
final class Cookies {
  private static final String ACCESS = "carrel-app";
  private static final String SECURE_ACCESS = "__Host-carrel-app";
  private static final String MARK = "carrel-app-";
  private static final Set<String> KEPT =
      Set.of("expires", "max-age", "secure", "httponly", "samesite", "partitioned");

  private Cookies() {}

  /** What links left here. */
  static List<String> links(Exchange exchange) {
    var found = new ArrayList<String>();
    for (Pair pair : pairs(exchange)) {
      if (isAccess(pair.name)) {
        found.add(pair.value);
      }
    }
    return found;
  }

  /** The cookies that are the app's, as it knows them; empty: none. */
  static String forApp(Exchange exchange, Target target) {
    var kept = new ArrayList<String>();
    for (Pair pair : pairs(exchange)) {
      if (target.ownOrigin()) {
        if (!isAccess(pair.name)) {
          kept.add(pair.name + "=" + pair.value);
        }
      } else if (pair.name.startsWith(MARK)) {
        kept.add(pair.name.substring(MARK.length()) + "=" + pair.value);
      }
    }
    return String.join("; ", kept);
  }

  /** Leaves a link with a browser. */
  static String access(String link, long seconds, boolean secure) {
    return (secure ? SECURE_ACCESS : ACCESS)
        + "="
        + link
        + "; Path=/; HttpOnly; SameSite=Lax; Max-Age="
        + seconds
        + (secure ? "; Secure" : "");
  }

  /** A cookie that an app sets, so that it reaches nothing but the app; empty: it may not. */
  static Optional<String> fromApp(String header, Target target) {
    String[] parts = header.split(";", -1);
    int equals = parts[0].indexOf('=');
    String name = equals < 0 ? "" : parts[0].substring(0, equals).strip();
    if (!isToken(name) || (target.ownOrigin() && isAccess(name))) {
      return Optional.empty();
    }
    var cookie = new StringBuilder(target.ownOrigin() ? "" : MARK);
    cookie.append(name).append('=').append(parts[0].substring(equals + 1).strip());
    String path = "/";
    for (int i = 1; i < parts.length; i++) {
      String attribute = parts[i].strip();
      int is = attribute.indexOf('=');
      String key = (is < 0 ? attribute : attribute.substring(0, is)).toLowerCase(Locale.ROOT);
      if (key.strip().equals("path") && is > 0 && attribute.substring(is + 1).startsWith("/")) {
        path = attribute.substring(is + 1);
      } else if (KEPT.contains(key.strip())) {
        cookie.append("; ").append(attribute);
      }
    }
    return Optional.of(cookie.append("; Path=").append(target.prefix()).append(path).toString());
  }

  private static boolean isAccess(String name) {
    return name.equals(ACCESS) || name.equals(SECURE_ACCESS);
  }

  private static boolean isToken(String name) {
    return !name.isEmpty() && name.chars().allMatch(AnswerHead::isTokenChar);
  }

  private static List<Pair> pairs(Exchange exchange) {
    var pairs = new ArrayList<Pair>();
    exchange.eachHeader(
        (name, value) -> {
          if (name.equalsIgnoreCase(HeaderNames.COOKIE.defaultCase())) {
            for (String part : value.split(";", -1)) {
              int equals = part.indexOf('=');
              if (equals > 0) {
                pairs.add(
                    new Pair(
                        part.substring(0, equals).strip(), part.substring(equals + 1).strip()));
              }
            }
          }
        });
    return pairs;
  }

  private record Pair(String name, String value) {}
}
