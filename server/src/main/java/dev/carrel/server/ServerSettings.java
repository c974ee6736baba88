package dev.carrel.server;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How the server listens and what it bounds.
 *
 * @param host address to bind; anything but loopback needs a certificate or {@code allowPlaintext}
 * @param port 0 takes a free one
 * @param allowPlaintext the operator has decided to carry tokens over unencrypted HTTP beyond this
 *     machine, or behind a proxy that adds TLS
 * @param allowedHosts names that requests may address the server by, besides loopback ones; on
 *     loopback every other name is refused, elsewhere empty means any
 * @param sandboxDomain under which sandboxes have names of their own, {@code PORT-SANDBOX.DOMAIN};
 *     empty: none have
 * @param certificate the server's own and those above it, PEM; null: no TLS
 * @param key of the certificate, PKCS #8 in PEM without a password
 * @param publicUrl what links that are given out begin with, for example {@code
 *     https://carrel.example.com}; empty: http and the name that the request used
 * @param maxJsonBody of one JSON request
 * @param maxConnections open at once
 * @param readTimeout for a client to begin its first request, with TLS if there is any, and to send
 *     the next bytes of a request it has begun
 * @param keepAlive quiet time after which an event stream gets a comment
 * @param drain for running requests to end when the server stops
 */
public record ServerSettings(
    String host,
    int port,
    boolean allowPlaintext,
    Set<String> allowedHosts,
    String sandboxDomain,
    @Nullable Path certificate,
    @Nullable Path key,
    String publicUrl,
    DataSize maxJsonBody,
    int maxConnections,
    Duration readTimeout,
    Duration keepAlive,
    Duration drain) {

  public ServerSettings {
    allowedHosts = Set.copyOf(allowedHosts);
    sandboxDomain = sandboxDomain.toLowerCase(Locale.ROOT);
    publicUrl = publicUrl.replaceAll("/+$", "");
    if (!publicUrl.isEmpty() && !publicUrl.matches("https?://[^/?#\\s]+(/[^?#\\s]*)?")) {
      throw SandboxException.invalid("public-url", "must be as https://carrel.example.com");
    }
    if (port < 0 || port > 65535) {
      throw SandboxException.invalid("port", "must be between 0 and 65535");
    }
    if (maxConnections < 1) {
      throw SandboxException.invalid("max-connections", "must be positive");
    }
    if (maxJsonBody.bytes() < 1024 || maxJsonBody.bytes() > 256L * 1024 * 1024) {
      throw SandboxException.invalid("max-json-body", "must be between 1 KiB and 256 MiB");
    }
    requirePositive("read-timeout", readTimeout);
    requirePositive("keep-alive", keepAlive);
    requirePositive("drain", drain);
  }

  public static ServerSettings defaults() {
    return new ServerSettings(
        "127.0.0.1",
        8080,
        false,
        Set.of(),
        "",
        null,
        null,
        "",
        DataSize.ofMebibytes(1),
        4096,
        Duration.ofSeconds(30),
        Duration.ofSeconds(15),
        Duration.ofSeconds(5));
  }

  public ServerSettings withAddress(String newHost, int newPort) {
    return new ServerSettings(
        newHost,
        newPort,
        allowPlaintext,
        allowedHosts,
        sandboxDomain,
        certificate,
        key,
        publicUrl,
        maxJsonBody,
        maxConnections,
        readTimeout,
        keepAlive,
        drain);
  }

  /** Whether the server itself speaks TLS. */
  public boolean secure() {
    return certificate != null;
  }

  public ServerSettings withTimes(
      Duration newReadTimeout, Duration newKeepAlive, Duration newDrain) {
    return new ServerSettings(
        host,
        port,
        allowPlaintext,
        allowedHosts,
        sandboxDomain,
        certificate,
        key,
        publicUrl,
        maxJsonBody,
        maxConnections,
        newReadTimeout,
        newKeepAlive,
        newDrain);
  }

  private static void requirePositive(String key, Duration value) {
    if (value.isNegative() || value.isZero()) {
      throw SandboxException.invalid(key, "must be positive");
    }
  }
}
