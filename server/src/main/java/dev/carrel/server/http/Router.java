package dev.carrel.server.http;

import dev.carrel.server.http.Route.Access;
import dev.carrel.server.http.Route.Handler;
import dev.carrel.spi.Text;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Finds the route of a path. Segments are told apart before they are decoded, so an encoded slash
 * or dot can never choose the route. (Helidon's own routing matches the decoded, normalised path.)
 * Where there is a GET there is a HEAD.
 *
 * <p>Filled by one thread, then read by many.
 */
public final class Router {
  private static final int MAX_SEGMENTS = 256;
  private static final String GET = "GET";
  private static final String HEAD = "HEAD";

  private final Node root = new Node();
  private final List<Route> routes = new ArrayList<>();

  public Router get(String template, Handler handler) {
    return add(GET, template, Access.TOKEN, handler);
  }

  public Router head(String template, Handler handler) {
    return add(HEAD, template, Access.TOKEN, handler);
  }

  public Router post(String template, Handler handler) {
    return add("POST", template, Access.TOKEN, handler);
  }

  public Router put(String template, Handler handler) {
    return add("PUT", template, Access.TOKEN, handler);
  }

  public Router patch(String template, Handler handler) {
    return add("PATCH", template, Access.TOKEN, handler);
  }

  public Router delete(String template, Handler handler) {
    return add("DELETE", template, Access.TOKEN, handler);
  }

  /** A page that needs no token. */
  public Router open(String template, Handler handler) {
    return add(GET, template, Access.OPEN, handler);
  }

  /** One that sees to its own kind of token. */
  public Router open(String method, String template, Handler handler) {
    return add(method, template, Access.OPEN, handler);
  }

  /** For one that sees to tokens and to where a browser comes from itself. */
  public Router own(String method, String template, Handler handler) {
    return add(method, template, Access.OWN, handler);
  }

  /** All methods, for one that sees to everything itself. */
  public Router any(String template, Handler handler) {
    return add(Route.ANY, template, Access.OWN, handler);
  }

  /** Every route, in the order of its making. */
  public List<Route> routes() {
    return List.copyOf(routes);
  }

  private Router add(String method, String template, Access access, Handler handler) {
    Node node = root;
    for (String segment : template.substring(1).split("/", -1)) {
      node = node.child(segment);
    }
    var route = new Route(method, template, access, handler);
    if (node.methods.put(method, route) != null) {
      throw new IllegalStateException("two routes for " + method + " " + template);
    }
    routes.add(route);
    return this;
  }

  Match match(String method, String rawPath) {
    List<String> segments = split(rawPath);
    Node node = root;
    var parameters = new HashMap<String, String>(4);
    for (int i = 0; i < segments.size(); i++) {
      Node next = node.named.get(segments.get(i));
      if (next == null && node.parameter != null && !segments.get(i).isEmpty()) {
        next = node.parameter;
        parameters.put(next.name, PercentCoding.segment(segments.get(i)));
      }
      if (next == null && node.rest != null) {
        return found(node.rest, method, rawPath, parameters, segments.subList(i, segments.size()));
      }
      if (next == null) {
        throw HttpProblem.notFound(Text.printable(rawPath, 200));
      }
      node = next;
    }
    return found(node, method, rawPath, parameters, List.of());
  }

  private static Match found(
      Node node, String method, String rawPath, Map<String, String> parameters, List<String> rest) {
    Route route = node.methods.get(method);
    if (route == null && method.equals(HEAD)) {
      route = node.methods.get(GET);
    }
    if (route == null) {
      route = node.methods.get(Route.ANY);
    }
    if (route != null) {
      return new Match(route, parameters, rest);
    }
    if (node.methods.isEmpty()) {
      throw HttpProblem.notFound(Text.printable(rawPath, 200));
    }
    throw HttpProblem.methodNotAllowed(
        Text.printable(method, 16), String.join(", ", allowed(node)));
  }

  private static Set<String> allowed(Node node) {
    var methods = new TreeSet<>(node.methods.keySet());
    if (methods.contains(GET)) {
      methods.add(HEAD);
    }
    return methods;
  }

  private static List<String> split(String rawPath) {
    var segments = new ArrayList<String>(8);
    int from = 1;
    for (int slash; (slash = rawPath.indexOf('/', from)) >= 0; from = slash + 1) {
      segments.add(rawPath.substring(from, slash));
      if (segments.size() > MAX_SEGMENTS) {
        throw HttpProblem.unreadable("path", "has more than " + MAX_SEGMENTS + " segments");
      }
    }
    segments.add(from <= rawPath.length() ? rawPath.substring(from) : "");
    return segments;
  }

  /**
   * A route with what the path gave it.
   *
   * @param rest the raw segments that a trailing {@code {name...}} took
   */
  record Match(Route route, Map<String, String> parameters, List<String> rest) {}

  private static final class Node {
    final String name;
    final Map<String, Node> named = new HashMap<>();
    final Map<String, Route> methods = new TreeMap<>();
    @Nullable Node parameter;
    @Nullable Node rest;

    Node() {
      this("");
    }

    private Node(String name) {
      this.name = name;
    }

    Node child(String segment) {
      if (!segment.startsWith("{")) {
        return named.computeIfAbsent(segment, name -> new Node(name));
      }
      String inner = segment.substring(1, segment.length() - 1);
      if (inner.endsWith("...")) {
        rest = rest == null ? new Node(inner) : rest;
        return rest;
      }
      parameter = parameter == null ? new Node(inner) : parameter;
      return parameter;
    }
  }
}
