package dev.carrel.dist.config;

import dev.carrel.server.ServerSettings;
import dev.carrel.spi.SandboxException;
import java.util.List;
import java.util.Set;

/** The keys of {@link ServerSettings}. */
final class ServerKeys {
  private ServerKeys() {}

  static ServerSettings read(Settings settings) {
    ServerSettings usual = ServerSettings.defaults();
    try {
      return new ServerSettings(
          settings.text("server.host", usual.host()),
          settings.number("server.port", usual.port(), 0, 65_535),
          settings.flag("server.allow-plaintext", usual.allowPlaintext()),
          Set.copyOf(settings.list("server.allowed-hosts", List.copyOf(usual.allowedHosts()))),
          settings.text("server.sandbox-domain", usual.sandboxDomain()),
          settings.path("server.tls-certificate").orElse(null),
          settings.path("server.tls-key").orElse(null),
          settings.text("server.public-url", usual.publicUrl()),
          settings.size("server.max-json-body", usual.maxJsonBody()),
          settings.number("server.max-connections", usual.maxConnections(), 1, 1 << 20),
          settings.duration("server.read-timeout", usual.readTimeout()),
          settings.duration("server.keep-alive", usual.keepAlive()),
          settings.duration("server.drain", usual.drain()));
    } catch (SandboxException e) {
      throw new ConfigurationException("server." + e.message());
    }
  }
}
