package dev.carrel.dist.config;

import dev.carrel.server.ServerSettings;
import dev.carrel.server.grpc.GrpcSettings;
import dev.carrel.spi.SandboxException;

/** The keys of {@link GrpcSettings}. */
final class GrpcKeys {
  private static final int MOST = 1 << 20;

  private GrpcKeys() {}

  static GrpcSettings read(Settings settings, ServerSettings server) {
    GrpcSettings usual = GrpcSettings.defaults();
    // Who takes any free port for the one wants no fixed one for the other.
    int port = server.port() == 0 ? 0 : usual.port();
    try {
      return new GrpcSettings(
          settings.flag("grpc.enabled", usual.enabled()),
          settings.text("grpc.listen", usual.host()),
          settings.number("grpc.port", port, 0, 65_535),
          settings.path("grpc.tls-certificate").orElse(null),
          settings.path("grpc.tls-key").orElse(null),
          settings.size("grpc.max-message", usual.maxMessage()),
          settings.number("grpc.max-connections", usual.maxConnections(), 1, MOST),
          settings.number("grpc.max-calls", usual.maxCalls(), 1, MOST));
    } catch (SandboxException e) {
      throw new ConfigurationException("grpc." + e.message());
    }
  }
}
