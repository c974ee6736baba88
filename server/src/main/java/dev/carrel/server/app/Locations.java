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
 * one. A client whose token is in a header of ours would take it even to other servers: it may be
 * sent to the app alone.
 */
final class Locations {
  private static final Set<String> APP_NAMES = Set.of("localhost", "127.0.0.1", "0.0.0.0", "[::1]");

  /** Whether a host leads to this server. */
  private final Predicate<String> ours;

  Locations(Predicate<String> ours) {
    this.ours = ours;
  }

  /**
   * What the client is told.
   *
   * @param authority that the request came to
   * @param bound whether the client has a token that it would take along anywhere
   */
  String back(String location, Target target, String authority, boolean bound) throws AppBrokeOff {
    URI uri;
    try {
      uri = new URI(location);
    } catch (URISyntaxException e) {
      if (target.ownOrigin() && !bound) {
        return location;
      }
      throw new AppBrokeOff("it sends clients on to what is no address");
    }
    if (target.ownOrigin()) {
      return ownBack(location, uri, target, authority, bound);
    }
    String there = uri.getRawAuthority();
    if (there == null && uri.getScheme() == null) {
      return target.prefix() + inside(uri, target);
    }
    String scheme = uri.getScheme() == null ? "http" : uri.getScheme().toLowerCase(Locale.ROOT);
    if (there == null || !(scheme.equals("http") || scheme.equals("https"))) {
      throw new AppBrokeOff("it sends clients on by " + scheme);
    }
    if (isApp(uri, target)) {
      return target.prefix() + tail(uri, pathOf(uri));
    }
    if (there.equalsIgnoreCase(authority)
        && withoutDots(pathOf(uri)).startsWith(target.prefix() + "/")) {
      // Made from X-Forwarded-Host and X-Forwarded-Prefix.
      return tail(uri, pathOf(uri));
    }
    PlainHost host =
        PlainHost.of(there)
            .orElseThrow(
                () ->
                    new AppBrokeOff("it sends clients on to a host that can be read in two ways"));
    if (host.isLocal()
        || ours.test(there)
        || PlainHost.of(authority).filter(host::equals).isPresent()) {
      throw new AppBrokeOff("it sends clients on to a place of this server that is not its own");
    }
    if (bound) {
      throw elsewhere();
    }
    return location;
  }

  private static String ownBack(
      String location, URI uri, Target target, String authority, boolean bound) throws AppBrokeOff {
    if (isApp(uri, target)) {
      return onOwnHost(uri);
    }
    // Browsers skip slashes before a host: ///a is the host a.
    boolean relative =
        uri.getRawAuthority() == null && uri.getScheme() == null && !location.startsWith("//");
    if (!bound || relative) {
      return location;
    }
    if (!authority.equalsIgnoreCase(uri.getRawAuthority())) {
      throw elsewhere();
    }
    // Without the scheme: nobody is led from TLS to plaintext.
    return onOwnHost(uri);
  }

  private static String onOwnHost(URI uri) {
    String tail = tail(uri, pathOf(uri));
    // Two slashes at the beginning would say that a host follows.
    return tail.startsWith("//") ? "/." + tail : tail;
  }

  private static AppBrokeOff elsewhere() {
    return new AppBrokeOff(
        "it sends clients on to another host, where the token in a header of this request would go"
            + " too; send the token as Authorization: Bearer");
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
