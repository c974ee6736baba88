package dev.carrel.server.e2b;

import dev.carrel.control.Control;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Router;
import dev.carrel.server.http.SandboxHosts;
import dev.carrel.spi.SandboxId;
import java.util.Map;
import java.util.Optional;

/**
 * Everything that E2B's clients ask for: a control plane on paths of its own, and a data plane for
 * requests that name a sandbox by header or host.
 */
public final class E2bApi implements AutoCloseable {
  private final Control control;
  private final Authenticator authenticator;
  private final String domain;
  private final Lifetime lifetime;
  private final DataPlane plane;
  private final Watchers watchers = new Watchers();
  private final Router inside = new Router();

  /**
   * @param hosts names of sandboxes; where the operator chose none they are told by headers alone
   */
  public E2bApi(Control control, Authenticator authenticator, SandboxHosts hosts) {
    this.control = control;
    this.authenticator = authenticator;
    this.domain = hosts.told();
    this.lifetime = new Lifetime(control.sandboxes());
    this.plane =
        new DataPlane(control.sandboxes(), control.accessTokens(), lifetime, hosts.domain());
    var connect = new Connect(plane);
    new ProcessService(connect, control.sandboxes(), control.execs(), control.files(), new Tags())
        .addTo(inside);
    new FilesystemService(connect, control.files().withAttributes(), watchers).addTo(inside);
    new Interpreter(plane, control.sandboxes(), control.contexts()).addTo(inside);
    transfer().addTo(inside);
    inside
        .open("GET", "/health", Failures.told(this::health))
        .open("GET", "/envs", Failures.told(this::envs));
  }

  /** Adds the control plane, and signed links, which do not name their sandbox. */
  public void addTo(Router router) {
    var door = new Door(authenticator);
    new SandboxControl(door, control, lifetime, domain).addTo(router);
    new SandboxLists(door, control.sandboxes(), domain).addTo(router);
    new NotOffered(door).addTo(router);
    transfer().addTo(router);
  }

  /** What serves a request to a host name that is known to this API. */
  public Optional<Router> atHost(Exchange exchange) {
    return plane.isHost(exchange) ? Optional.of(inside) : Optional.empty();
  }

  /** What serves a request that is meant for the inside of a sandbox. */
  public Optional<Router> inside(Exchange exchange) {
    return plane.isFor(exchange) ? Optional.of(inside) : Optional.empty();
  }

  @Override
  public void close() {
    watchers.close();
  }

  private FileTransfer transfer() {
    return new FileTransfer(plane, control.accessTokens(), control.files());
  }

  private void health(Exchange exchange) {
    plane.requireRunning(sandbox(exchange));
    exchange.noContent();
  }

  private void envs(Exchange exchange) {
    SandboxId sandbox = sandbox(exchange);
    Map<String, String> variables =
        control.sandboxes().get(plane.admit(exchange, sandbox), sandbox).envVars();
    Wire.json(exchange, 200, variables);
  }

  private SandboxId sandbox(Exchange exchange) {
    return plane.place(exchange).orElseThrow(() -> SandboxAway.notRunning("")).sandbox();
  }
}
