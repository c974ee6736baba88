package dev.carrel.server;

import dev.carrel.control.Control;
import dev.carrel.server.app.Apps;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.e2b.E2bApi;
import dev.carrel.server.flat.FlatApi;
import dev.carrel.server.grpc.GrpcApi;
import dev.carrel.server.grpc.GrpcSettings;
import dev.carrel.server.http.Certificates;
import dev.carrel.server.http.Connections;
import dev.carrel.server.http.Dispatcher;
import dev.carrel.server.http.HostGuard;
import dev.carrel.server.http.ListenAddresses;
import dev.carrel.server.http.PackedAsIs;
import dev.carrel.server.http.PatientListener;
import dev.carrel.server.http.ProblemPages;
import dev.carrel.server.http.PublicAddress;
import dev.carrel.server.http.RequestLog;
import dev.carrel.server.http.Router;
import dev.carrel.server.http.SandboxHosts;
import dev.carrel.server.mcp.Catalog;
import dev.carrel.server.mcp.McpRoutes;
import dev.carrel.server.rest.FrontDoor;
import dev.carrel.server.rest.RestApi;
import dev.carrel.server.rest.Version;
import dev.carrel.server.tools.ResourceNews;
import dev.carrel.server.tools.Toolsets;
import dev.carrel.spi.SandboxException;
import io.helidon.common.tls.Tls;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http1.Http1Config;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.Optional;

/**
 * The listening server. Owns its port and its connections, not the control plane: stopping it
 * leaves sandboxes and control as they are.
 */
public final class CarrelServer implements AutoCloseable {
  private static final int MAX_PATH = 32 * 1024;
  private static final int MAX_HEADERS = 64 * 1024;
  private static final int WRITE_BUFFER = 16 * 1024;

  private final WebServer web;
  private final Connections connections;
  private final McpRoutes mcp;
  private final Catalog.Listening news;
  private final E2bApi e2b;
  private final GrpcApi grpc;
  private final boolean secure;
  private final String host;

  private CarrelServer(
      WebServer web,
      Connections connections,
      McpRoutes mcp,
      Catalog.Listening news,
      E2bApi e2b,
      GrpcApi grpc,
      boolean secure,
      String host) {
    this.web = web;
    this.connections = connections;
    this.mcp = mcp;
    this.news = news;
    this.e2b = e2b;
    this.grpc = grpc;
    this.secure = secure;
    this.host = host;
  }

  /**
   * Lets the web server find its parts, which takes it a tenth of a second, while the caller does
   * something else.
   */
  public static void prepare() {
    Thread.ofPlatform().daemon().name("server-prepare").start(() -> HttpRouting.builder());
  }

  /** Returns once requests are answered. */
  public static CarrelServer start(
      ServerSettings settings, GrpcSettings rpc, Control control, Authenticator authenticator) {
    return start(settings, rpc, control, authenticator, Toolsets.catalog(control));
  }

  /**
   * As {@link #start(ServerSettings, GrpcSettings, Control, Authenticator)}.
   *
   * @param catalog what is offered over MCP
   */
  static CarrelServer start(
      ServerSettings settings,
      GrpcSettings rpc,
      Control control,
      Authenticator authenticator,
      Catalog catalog) {
    InetAddress listening = address(settings);
    requireFree(listening, settings.port());
    Optional<Tls> tls = Certificates.tls(settings.certificate(), settings.key());
    var connections = new Connections(settings.readTimeout());
    Authenticator keys =
        token -> authenticator.authenticate(token).or(() -> control.apiKeys().authenticate(token));
    var address = new PublicAddress(settings.publicUrl());
    var api = new RestApi(control, keys, address);
    var hosts =
        SandboxHosts.of(settings.sandboxDomain(), listening.isLoopbackAddress(), settings.secure());
    var guard = new HostGuard(listening.isLoopbackAddress(), settings.allowedHosts(), hosts);
    var e2b = new E2bApi(control, keys, hosts);
    var apps = new Apps(control.ports(), keys, hosts, guard, address);
    var router = new Router();
    api.addTo(router);
    FrontDoor.addTo(router);
    var mcp = new McpRoutes(catalog, Version.CURRENT, address);
    mcp.addTo(router);
    e2b.addTo(router);
    new FlatApi(control, keys).addTo(router);
    var grpc = new GrpcApi(rpc, control, keys, api.metrics(), settings.drain());
    grpc.addTo(router);
    var dispatcher =
        new Dispatcher(
            exchange ->
                e2b.atHost(exchange)
                    .or(() -> apps.serving(exchange))
                    .or(() -> e2b.inside(exchange))
                    .orElse(router),
            connections,
            guard,
            keys,
            new RequestLog(api.metrics()),
            settings.maxJsonBody(),
            settings.keepAlive(),
            api::causeOfDeath);
    WebServer web = web(settings, listening, tls, connections, dispatcher);
    try {
      web.start();
      PatientListener.within(web);
      grpc.listen();
    } catch (RuntimeException e) {
      web.stop();
      grpc.close();
      connections.close();
      throw e;
    }
    var news = catalog.reportedBy(() -> ResourceNews.begin(control.sandboxes(), catalog));
    return new CarrelServer(
        web, connections, mcp, news, e2b, grpc, settings.secure(), listening.getHostAddress());
  }

  private static WebServer web(
      ServerSettings settings,
      InetAddress listening,
      Optional<Tls> tls,
      Connections connections,
      Dispatcher dispatcher) {
    var listener =
        WebServer.builder()
            .address(listening)
            .port(settings.port())
            .shutdownHook(false)
            .shutdownGracePeriod(settings.drain())
            .maxTcpConnections(settings.maxConnections())
            .writeBufferSize(WRITE_BUFFER)
            // Helidon's NIO socket writes 8 KiB at a time: a third slower for large files.
            .useNio(false)
            .connectionOptions(connections.options())
            .contentEncoding(
                encoding ->
                    encoding
                        .contentEncodingsDiscoverServices(false)
                        .addContentEncoding(new PackedAsIs()))
            .directHandlers(ProblemPages.handlers())
            .addProtocol(
                Http1Config.builder()
                    .maxPrologueLength(MAX_PATH)
                    .maxHeadersSize(MAX_HEADERS)
                    .sendKeepAliveHeader(false)
                    .addReceiveListener(connections)
                    .build())
            .routing(routing -> routing.addFilter(dispatcher));
    tls.ifPresent(listener::tls);
    return listener.build();
  }

  public int port() {
    return web.port();
  }

  /** Where a client on this machine finds the server. */
  public URI uri() {
    String name = host.contains(":") ? "[" + host + "]" : host;
    return URI.create((secure ? "https://" : "http://") + name + ":" + port());
  }

  /** Where gRPC is served; empty when it has no port of its own. */
  public Optional<URI> grpcUri() {
    return grpc.uri();
  }

  /**
   * Takes no new request, lets short ones finish, cancels streams and long ones, and returns within
   * about the time that the settings give for it.
   */
  public void stop() {
    connections.stop();
    grpc.close();
    news.close();
    mcp.close();
    web.stop();
    e2b.close();
    connections.close();
  }

  @Override
  public void close() {
    stop();
  }

  private static InetAddress address(ServerSettings settings) {
    InetAddress address;
    try {
      address = InetAddress.getByName(settings.host());
    } catch (UnknownHostException e) {
      throw SandboxException.invalid("host", "cannot be resolved: " + settings.host());
    }
    if (!address.isLoopbackAddress() && !settings.secure() && !settings.allowPlaintext()) {
      throw SandboxException.invalid(
              "host", settings.host() + " can be reached from other machines, over plain HTTP")
          .withHint(
              "set server.tls-certificate and server.tls-key, put a proxy with TLS in front and bind"
                  + " 127.0.0.1, or let tokens pass unencrypted with server.allow-plaintext=true");
    }
    return address;
  }

  // The web server tells of a port in use by a stack trace in the log, and starts all the same.
  static void requireFree(InetAddress address, int port) {
    try (ServerSocket probe = new ServerSocket()) {
      probe.setReuseAddress(true);
      probe.bind(new InetSocketAddress(address, port));
    } catch (IOException e) {
      String what =
          "cannot listen on %s:%d: %s".formatted(address.getHostAddress(), port, e.getMessage());
      throw ListenAddresses.has(address)
          ? SandboxException.invalid("port", what)
              .withHint("stop what listens there, or choose another one: carrel serve --port 8081")
          : SandboxException.invalid("host", what)
              .withHint(
                  "choose an address that this host has, 0.0.0.0 for all of them, or 127.0.0.1 for"
                      + " clients on this host alone: carrel serve --host 127.0.0.1");
    }
  }
}
