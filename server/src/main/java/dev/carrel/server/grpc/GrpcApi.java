package dev.carrel.server.grpc;

import dev.carrel.control.Control;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.http.Router;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Everything that is called over gRPC. */
public final class GrpcApi implements AutoCloseable {
  private final GrpcSettings settings;
  private final List<Service> services;
  private final Authenticator authenticator;
  private final CallLog log;
  private final Duration drain;
  private @Nullable GrpcServer server;

  /**
   * @param drain for running calls to end when the server stops
   */
  public GrpcApi(
      GrpcSettings settings,
      Control control,
      Authenticator authenticator,
      MeterRegistry metrics,
      Duration drain) {
    this.settings = settings;
    this.services =
        List.of(
            new SandboxSessions(control, settings.maxMessage()).service(),
            new ContextCalls(control, settings.maxMessage()).service(),
            new TerminalCalls(control).service(),
            new TunnelCalls(control).service());
    this.authenticator = authenticator;
    this.log = new CallLog(metrics);
    this.drain = drain;
  }

  /** Adds what serves gRPC-Web. */
  public void addTo(Router router) {
    new GrpcWeb(settings.maxMessage(), log).addTo(router, services);
  }

  /** Opens the port, if there is to be one. Throws what says why it cannot. */
  public void listen() {
    if (settings.enabled()) {
      server = new GrpcServer(settings, services, authenticator, log, drain);
    }
  }

  /** Where a client on this machine finds it; empty when it has no port. */
  public Optional<URI> uri() {
    GrpcServer open = server;
    if (open == null) {
      return Optional.empty();
    }
    String name = settings.host().contains(":") ? "[" + settings.host() + "]" : settings.host();
    String scheme = open.encrypted() ? "grpcs" : "grpc";
    return Optional.of(URI.create(scheme + "://" + name + ":" + open.port()));
  }

  @Override
  public void close() {
    if (server != null) {
      server.close();
    }
  }
}
