package dev.carrel.server.http;

import dev.carrel.spi.SandboxException;
import io.helidon.common.configurable.Resource;
import io.helidon.common.pki.Keys;
import io.helidon.common.tls.Tls;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** TLS out of two PEM files. */
public final class Certificates {
  private Certificates() {}

  /**
   * Read at once: a certificate that cannot be used shall stop the start, not the first request.
   *
   * @param certificate the server's own and those above it; null: none
   * @param key of the certificate, PKCS #8 without a password
   * @return empty when there is no certificate
   */
  public static Optional<Tls> tls(@Nullable Path certificate, @Nullable Path key) {
    if (certificate == null && key == null) {
      return Optional.empty();
    }
    if (certificate == null || key == null) {
      throw SandboxException.invalid("tls-certificate", "goes with tls-key: set both, or neither");
    }
    return Optional.of(read(certificate, key));
  }

  private static Tls read(Path certificate, Path key) {
    try {
      Keys keys =
          Keys.builder()
              .pem(pem -> pem.key(Resource.create(key)).certChain(Resource.create(certificate)))
              .build();
      return Tls.builder()
          .privateKey(keys.privateKey().orElseThrow())
          .privateKeyCertChain(keys.certChain())
          .addEnabledProtocol("TLSv1.3")
          .addEnabledProtocol("TLSv1.2")
          .build();
    } catch (RuntimeException e) {
      Throwable reason = e.getCause() == null ? e : e.getCause();
      throw SandboxException.invalid(
              "tls-certificate", "%s and %s cannot be used: %s".formatted(certificate, key, reason))
          .withHint("both are PEM files; the key is PKCS #8 without a password");
    }
  }
}
