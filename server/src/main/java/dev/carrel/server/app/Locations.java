package dev.carrel.server.app;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayDeque;
import java.util.Locale;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Where an app sends its clients on to. On the shared origin a client that follows takes its token
 * along, so an app may send it to itself and to other servers, and never to another path of this
 * one.
 */
final class Locations {
  private static final Set<String> APP_NAMES = Set.of("localhost", "127.0.0.1", "0.0.0.0", "[::1]");

  /** Whether a host leads to this server. */
  private final Predicate<String> ours;

  Locations(Predicate<String> ours) {
    this.ours = ours;
  }

  String back(String location, Target target) throws AppBrokeOff {
    URI uri;
    try {
      uri = new URI(location);
    } catch (URISyntaxException e) {
      if (target.ownOrigin()) {
        return location;
      }
      throw new AppBrokeOff("it sends clients on to what is no address");
    }
    if (target.ownOrigin()) {
      return isApp(uri, target) ? tail(uri, pathOf(uri)) : location;
    }
    String authority = uri.getRawAuthority();
    if (authority == null && uri.getScheme() == null) {
      return target.prefix() + inside(uri, target);
    }
    String scheme = uri.getScheme() == null ? "http" : uri.getScheme().toLowerCase(Locale.ROOT);
    if (authority == null || !(scheme.equals("http") || scheme.equals("https"))) {
      throw new AppBrokeOff("it sends clients on by " + scheme);
    }
    if (isApp(uri, target)) {
      return target.prefix() + tail(uri, pathOf(uri));
    }
    if (ours.test(authority)) {
      throw new AppBrokeOff("it sends clients on to a place of this server that is not its own");
    }
    return location;
  }

  private static String pathOf(URI uri) {
    return uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
  }

  private static boolean isApp(URI uri, Target target) {
    String host = uri.getHost();
    int port = uri.getPort() < 0 ? 80 : uri.getPort();
    return host != null
        && uri.getRawUserInfo() == null
        && APP_NAMES.contains(host.toLowerCase(Locale.ROOT))
        && port == target.place().port();
  }

  /** A path that was told from where the app is now; never above the app's own root. */
  private static String inside(URI uri, Target target) {
    String path = uri.getRawPath();
    if (path.isEmpty()) {
      return tail(uri, target.path());
    }
    String whole =
        path.startsWith("/")
            ? path
            : target.path().substring(0, target.path().lastIndexOf('/') + 1) + path;
    return tail(uri, withoutDots(whole));
  }

  private static String withoutDots(String path) {
    var kept = new ArrayDeque<String>();
    String[] segments = path.substring(1).split("/", -1);
    for (int i = 0; i < segments.length; i++) {
      // Clients read the encoded form as dots too.
      String plain = segments[i].replace("%2e", ".").replace("%2E", ".");
      boolean last = i == segments.length - 1;
      if (plain.equals("..") || plain.equals(".")) {
        if (plain.length() == 2 && !kept.isEmpty()) {
          kept.removeLast();
        }
        if (last) {
          kept.addLast("");
        }
      } else {
        kept.addLast(segments[i]);
      }
    }
    return "/" + String.join("/", kept);
  }

  private static String tail(URI uri, String path) {
    return withoutDots(path)
        + (uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery())
        + (uri.getRawFragment() == null ? "" : "#" + uri.getRawFragment());
  }
}
