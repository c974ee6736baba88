package dev.carrel.server.grpc;

import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import com.google.protobuf.Message;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.http.ListenAddresses;
import dev.carrel.spi.SandboxException;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslProvider;
import io.grpc.protobuf.ProtoServiceDescriptorSupplier;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The port of gRPC. Started by the first client that comes; see {@link Doorway}. */
final class GrpcServer implements AutoCloseable {
  private static final int CALLS_PER_CONNECTION = 128;
  private static final int RESETS = 1000;
  private static final int RESETS_SECONDS = 10;
  private static final Duration PING = Duration.ofSeconds(60);
  private static final Duration PONG = Duration.ofSeconds(20);
  private static final Duration OFTENEST_PING = Duration.ofSeconds(5);
  private static final Duration LAST = Duration.ofSeconds(1);
  private static final Duration UNUSED = Duration.ofMinutes(30);

  private final GrpcSettings settings;
  private final List<Service> services;
  private final Authenticator authenticator;
  private final Calls calls;
  private final Duration drain;
  private final @Nullable SslContext tls;
  private final Doorway doorway;
  private @Nullable Running running;
  private boolean closed;

  private record Running(Server server, EventLoopGroup loop, HealthStatusManager health) {}

  GrpcServer(
      GrpcSettings settings,
      List<Service> services,
      Authenticator authenticator,
      CallLog log,
      Duration drain) {
    this.settings = settings;
    this.services = services;
    this.authenticator = authenticator;
    this.calls = new Calls(settings.maxCalls(), log);
    this.drain = drain;
    this.tls = tls(settings);
    InetAddress address = address(settings);
    try {
      this.doorway = Doorway.bind(new InetSocketAddress(address, settings.port()), this::open);
    } catch (IOException e) {
      throw cannotListen(settings, address, e);
    }
  }

  private static SandboxException cannotListen(
      GrpcSettings settings, InetAddress address, IOException e) {
    String what =
        "cannot listen on %s:%d: %s".formatted(settings.host(), settings.port(), e.getMessage());
    return ListenAddresses.has(address)
        ? SandboxException.invalid("grpc.port", what)
            .withHint(
                "stop what listens there, choose another with --set grpc.port=50052, or do"
                    + " without: --set grpc.enabled=false")
        : SandboxException.invalid("grpc.listen", what)
            .withHint(
                "choose an address that this host has, 0.0.0.0 for all of them, or 127.0.0.1 for"
                    + " clients on this host alone: --set grpc.listen=127.0.0.1");
  }

  int port() {
    return doorway.port();
  }

  boolean encrypted() {
    return tls != null;
  }

  private synchronized void open(ServerSocketChannel socket) throws IOException {
    if (closed) {
      return;
    }
    var loop =
        new MultiThreadIoEventLoopGroup(
            1, Thread.ofPlatform().daemon().name("grpc-", 0).factory(), NioIoHandler.newFactory());
    var health = new HealthStatusManager();
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(socket.getLocalAddress())
            .channelFactory(() -> new TakenPort(socket, settings.maxConnections()))
            .bossEventLoopGroup(loop)
            .workerEventLoopGroup(loop)
            .executor(Executors.newVirtualThreadPerTaskExecutor())
            .intercept(new TokenCheck(authenticator))
            .maxInboundMessageSize(Math.toIntExact(settings.maxMessage().bytes()))
            .maxConcurrentCallsPerConnection(CALLS_PER_CONNECTION)
            .maxRstFramesPerWindow(RESETS, RESETS_SECONDS)
            .keepAliveTime(PING.toSeconds(), TimeUnit.SECONDS)
            .keepAliveTimeout(PONG.toSeconds(), TimeUnit.SECONDS)
            .permitKeepAliveTime(OFTENEST_PING.toSeconds(), TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .maxConnectionIdle(UNUSED.toSeconds(), TimeUnit.SECONDS)
            .addService(health.getHealthService())
            .addService(ProtoReflectionServiceV1.newInstance());
    services.forEach(service -> builder.addService(definition(service)));
    if (tls != null) {
      builder.sslContext(tls);
    }
    running = new Running(builder.build().start(), loop, health);
  }

  private ServerServiceDefinition definition(Service service) {
    List<ServerMethodDefinition<?, ?>> methods = new ArrayList<>();
    service.methods().forEach(method -> methods.add(definition(service, method)));
    var descriptor =
        io.grpc.ServiceDescriptor.newBuilder(service.name())
            .setSchemaDescriptor(new Schema(service.description()));
    methods.forEach(method -> descriptor.addMethod(method.getMethodDescriptor()));
    var definition = ServerServiceDefinition.builder(descriptor.build());
    methods.forEach(definition::addMethod);
    return definition.build();
  }

  private <Q extends Message, A extends Message> ServerMethodDefinition<Q, A> definition(
      Service service, Method<Q, A> method) {
    return ServerMethodDefinition.create(
        descriptor(service, method),
        (wire, _) -> {
          var call = new NettyCall<>(wire, method, TokenCheck.CALLER.get(), calls);
          call.start();
          return call;
        });
  }

  private static <Q extends Message, A extends Message> MethodDescriptor<Q, A> descriptor(
      Service service, Method<Q, A> method) {
    return MethodDescriptor.<Q, A>newBuilder()
        .setFullMethodName(service.path(method))
        .setType(
            switch (method.shape()) {
              case UNARY -> MethodType.UNARY;
              case ANSWERS -> MethodType.SERVER_STREAMING;
              case BOTH -> MethodType.BIDI_STREAMING;
            })
        .setRequestMarshaller(ProtoUtils.marshaller(method.question()))
        .setResponseMarshaller(ProtoUtils.marshaller(method.answer()))
        .build();
  }

  /** What reflection tells of a service. */
  private record Schema(ServiceDescriptor service) implements ProtoServiceDescriptorSupplier {
    @Override
    public ServiceDescriptor getServiceDescriptor() {
      return service;
    }

    @Override
    public FileDescriptor getFileDescriptor() {
      return service.getFile();
    }
  }

  /** As {@code CarrelServer.stop}: short calls finish, others are cancelled. */
  @Override
  public void close() {
    Running open;
    synchronized (this) {
      closed = true;
      open = running;
      running = null;
    }
    doorway.close();
    if (open == null) {
      return;
    }
    open.health.enterTerminalState();
    open.server.shutdown();
    calls.stop();
    try {
      if (!open.server.awaitTermination(drain.toMillis(), TimeUnit.MILLISECONDS)) {
        open.server.shutdownNow();
        open.server.awaitTermination(LAST.toMillis(), TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      open.server.shutdownNow();
    }
    open.loop
        .shutdownGracefully(0, LAST.toMillis(), TimeUnit.MILLISECONDS)
        .awaitUninterruptibly(2 * LAST.toMillis());
  }

  private static InetAddress address(GrpcSettings settings) {
    InetAddress address;
    try {
      address = InetAddress.getByName(settings.host());
    } catch (UnknownHostException e) {
      throw SandboxException.invalid("grpc.listen", "cannot be resolved: " + settings.host());
    }
    if (!address.isLoopbackAddress() && settings.certificate() == null) {
      throw SandboxException.invalid(
              "grpc.listen",
              settings.host() + " can be reached from other machines, over plaintext gRPC")
          .withHint(
              "set grpc.tls-certificate and grpc.tls-key, or bind 127.0.0.1 and put a proxy with"
                  + " TLS in front");
    }
    return address;
  }

  /** Read at once: a certificate that cannot be used shall stop the start, not the first call. */
  private static @Nullable SslContext tls(GrpcSettings settings) {
    Path certificate = settings.certificate();
    Path key = settings.key();
    if (certificate == null && key == null) {
      return null;
    }
    if (certificate == null || key == null) {
      throw SandboxException.invalid(
          "grpc.tls-certificate", "goes with grpc.tls-key: set both, or neither");
    }
    try {
      return GrpcSslContexts.configure(
              SslContextBuilder.forServer(certificate.toFile(), key.toFile()), SslProvider.JDK)
          .build();
    } catch (IOException | IllegalArgumentException e) {
      Throwable reason = e.getCause() == null ? e : e.getCause();
      throw SandboxException.invalid(
              "grpc.tls-certificate",
              "%s and %s cannot be used: %s".formatted(certificate, key, reason.getMessage()))
          .withHint("both are PEM files; the key is PKCS #8 without a password");
    }
  }
}
