package dev.carrel.server.app;

import dev.carrel.control.port.Ports;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HostGuard;
import dev.carrel.server.http.HttpProblem;
import dev.carrel.server.http.PublicAddress;
import dev.carrel.server.http.Router;
import dev.carrel.server.http.SandboxHosts;
import dev.carrel.server.http.SandboxHosts.Place;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Apps in sandboxes: below {@code /app/SANDBOX/PORT/} of the server, where they share its origin
 * and are held, and at host names of their own, where they need not be.
 */
public final class Apps {
  private static final String APP = "/app/{id}/{port}";
  private static final String QUERY = "carrel-link";
  private static final Pattern LINK = Pattern.compile("[0-9]{1,12}\\.[0-9a-f]{40}");
  private static final char MARK = '~';

  private static final HeaderName MODE = HeaderNames.create("Sec-Fetch-Mode");
  private static final HeaderName DEST = HeaderNames.create("Sec-Fetch-Dest");
  private static final HeaderName REFERRER = HeaderNames.create("Referrer-Policy");

  private final Door door;
  private final AppProxy proxy;
  private final Preflight preflight = new Preflight();
  private final SandboxHosts hosts;
  private final Router own = new Router();
  private final Router shared = new Router();

  public Apps(
      Ports ports,
      Authenticator authenticator,
      SandboxHosts hosts,
      HostGuard guard,
      PublicAddress address) {
    this.door = new Door(ports, authenticator);
    var locations = new Locations(there -> guard.leadsHere(there) || address.isAt(there));
    this.proxy = new AppProxy(ports, door, new AnswerHeaders(door, locations));
    this.hosts = hosts;
    own.any("/{path...}", Pages.told(this::own));
    shared
        .any(APP, Pages.told(this::withoutSlash))
        .any(APP + "/{path...}", Pages.told(this::shared));
  }

  /** What serves a request that is for an app, whatever it has in its headers. */
  public Optional<Router> serving(Exchange exchange) {
    if (hosts.find(exchange.authority()).isPresent()) {
      return Optional.of(own);
    }
    return exchange.rawPath().startsWith("/app/") ? Optional.of(shared) : Optional.empty();
  }

  /** The path of a link, which opens the port for whoever has it. */
  public static String path(SandboxId sandbox, int port, String link) {
    return "/app/" + sandbox + "/" + port + "/" + MARK + link + "/";
  }

  /** Relative addresses need the slash. */
  private void withoutSlash(Exchange exchange) {
    place(exchange);
    String query = exchange.rawQuery();
    exchange
        .header(
            HeaderNames.LOCATION, exchange.rawPath() + "/" + (query.isEmpty() ? "" : "?" + query))
        .bytes(308, new byte[0]);
  }

  private void shared(Exchange exchange) throws IOException, InterruptedException {
    Place place = place(exchange);
    List<String> rest = exchange.rest();
    String first = rest.getFirst();
    boolean linked =
        !first.isEmpty() && first.charAt(0) == MARK && LINK.matcher(first.substring(1)).matches();
    String link = linked ? first.substring(1) : null;
    if (linked && rest.size() == 1) {
      withoutSlash(exchange);
      return;
    }
    String prefix = "/app/" + place.sandbox() + "/" + place.port() + (linked ? "/" + first : "");
    String path = "/" + String.join("/", linked ? rest.subList(1, rest.size()) : rest);
    var target = new Target(place, prefix, path, exchange.rawQuery(), false);
    Door.Entry entry = door.admit(exchange, place, link, Means.PATH, List.of());
    if (link != null && isNavigation(exchange)) {
      Optional<String> origin = hosts.origin(place, exchange.authority());
      if (origin.isPresent()) {
        Target there = target.withQuery(with(target.query(), QUERY + "=" + link));
        send(exchange, origin.get() + there.pathAndQuery());
        return;
      }
    }
    if (entry.means() == Means.PATH && preflight.answers(exchange)) {
      return;
    }
    proxy.forward(exchange, entry.caller(), target);
  }

  private void own(Exchange exchange) throws IOException, InterruptedException {
    Place place = hosts.find(exchange.authority()).orElseThrow();
    String link = link(exchange.rawQuery());
    String query = link == null ? exchange.rawQuery() : without(exchange.rawQuery());
    var target = new Target(place, "", exchange.rawPath(), query, true);
    Door.Entry entry = door.admit(exchange, place, link, Means.QUERY, Cookies.links(exchange));
    if (link != null) {
      boolean secure =
          hosts
              .origin(place, exchange.authority())
              .filter(it -> it.startsWith("https:"))
              .isPresent();
      long end = Long.parseLong(link.substring(0, link.indexOf('.')));
      long left = Math.max(0, end - Instant.now().getEpochSecond());
      exchange.addHeader(HeaderNames.SET_COOKIE, Cookies.access(link, left, secure));
      if (exchange.method().equals("GET") && exchange.accepts("text/html")) {
        // Out of the address bar, and of what the page could pass on.
        send(exchange, target.pathAndQuery());
        return;
      }
    }
    proxy.forward(exchange, entry.caller(), target);
  }

  private static void send(Exchange exchange, String location) {
    exchange
        .header(HeaderNames.LOCATION, location)
        .header(HeaderNames.CACHE_CONTROL, "no-store")
        .header(REFERRER, "no-referrer")
        .bytes(303, new byte[0]);
  }

  private static boolean isNavigation(Exchange exchange) {
    return exchange.method().equals("GET")
        && exchange.header(MODE).filter("navigate"::equals).isPresent()
        && exchange.header(DEST).filter("document"::equals).isPresent();
  }

  private Place place(Exchange exchange) {
    try {
      var sandbox = new SandboxId(exchange.parameter("id"));
      String digits = exchange.parameter("port");
      boolean plain = digits.length() <= 5 && digits.chars().allMatch(c -> c >= '0' && c <= '9');
      int port = plain ? Integer.parseInt(digits) : 0;
      if (port < 1 || port > Ports.MAX_PORT) {
        throw SandboxException.invalid("port", "must be between 1 and " + Ports.MAX_PORT);
      }
      return new Place(sandbox, port);
    } catch (SandboxException e) {
      door.requireToken(exchange);
      throw e;
    }
  }

  private static @Nullable String link(String query) {
    for (String part : query.split("&", -1)) {
      if (part.startsWith(QUERY + "=")) {
        String link = part.substring(QUERY.length() + 1);
        if (!LINK.matcher(link).matches()) {
          throw HttpProblem.unreadable(QUERY, "is no link");
        }
        return link;
      }
    }
    return null;
  }

  private static String with(String query, String part) {
    return query.isEmpty() ? part : query + "&" + part;
  }

  private static String without(String query) {
    var kept = new ArrayList<String>();
    for (String part : query.split("&", -1)) {
      if (!part.startsWith(QUERY + "=")) {
        kept.add(part);
      }
    }
    return String.join("&", kept);
  }
}
