package dev.carrel.server.grpc;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * How gRPC is served.
 *
 * @param enabled whether it has a port of its own; gRPC-Web on the main port is always there
 * @param host address to bind; anything but loopback needs a certificate
 * @param port 0 takes a free one
 * @param certificate PEM, the server's own first; null: plaintext
 * @param key PEM of PKCS #8, without a password; goes with {@code certificate}
 * @param maxMessage of one message, either way
 * @param maxConnections open at once
 * @param maxCalls under way at once
 */
public record GrpcSettings(
    boolean enabled,
    String host,
    int port,
    @Nullable Path certificate,
    @Nullable Path key,
    DataSize maxMessage,
    int maxConnections,
    int maxCalls) {
  private static final long LARGEST = 64L * 1024 * 1024;

  public GrpcSettings {
    if (port < 0 || port > 65535) {
      throw SandboxException.invalid("port", "must be between 0 and 65535");
    }
    if (maxMessage.bytes() < 1024 || maxMessage.bytes() > LARGEST) {
      throw SandboxException.invalid("max-message", "must be between 1 KiB and 64 MiB");
    }
    if (maxConnections < 1 || maxCalls < 1) {
      throw SandboxException.invalid("max-connections", "and max-calls must be positive");
    }
  }

  /** As clients of gRPC expect it: plaintext for this machine, messages of up to 4 MiB. */
  public static GrpcSettings defaults() {
    return new GrpcSettings(
        true, "127.0.0.1", 50051, null, null, DataSize.ofMebibytes(4), 1024, 1024);
  }

  /** No port. */
  public static GrpcSettings off() {
    GrpcSettings usual = defaults();
    return new GrpcSettings(
        false,
        usual.host,
        usual.port,
        null,
        null,
        usual.maxMessage,
        usual.maxConnections,
        usual.maxCalls);
  }

  public GrpcSettings withAddress(String newHost, int newPort) {
    return new GrpcSettings(
        enabled, newHost, newPort, certificate, key, maxMessage, maxConnections, maxCalls);
  }

  public GrpcSettings withTls(Path newCertificate, Path newKey) {
    return new GrpcSettings(
        enabled, host, port, newCertificate, newKey, maxMessage, maxConnections, maxCalls);
  }
}
