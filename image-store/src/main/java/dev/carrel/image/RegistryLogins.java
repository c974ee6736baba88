package dev.carrel.image;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Who we are to registries, from a file in the form of Docker's {@code config.json}. Programs that
 * it names to ask for passwords are never run.
 */
final class RegistryLogins {
  private static final long MAX_FILE = 1 << 20;

  private final @Nullable Path file;

  /**
   * @param file read anew for each pull; null: nobody anywhere
   */
  RegistryLogins(@Nullable Path file) {
    this.file = file;
  }

  /** What to send as {@code Authorization: Basic …}. */
  Optional<String> of(String registry) throws IOException {
    if (file == null) {
      return Optional.empty();
    }
    if (Files.size(file) > MAX_FILE) {
      throw new IOException(file + " is too large to be a list of logins");
    }
    JsonNode all;
    try {
      all = Manifest.json(Files.readAllBytes(file)).path("auths");
    } catch (SandboxException e) {
      throw new IOException(file + " is not readable as Docker's config.json", e);
    }
    List<String> names =
        registry.equals("docker.io")
            ? List.of("https://index.docker.io/v1/", "docker.io", "index.docker.io")
            : List.of(registry, "https://" + registry, "http://" + registry);
    for (String name : names) {
      JsonNode one = all.path(name);
      if (one.path("auth").isTextual()) {
        return Optional.of("Basic " + one.path("auth").asText());
      }
      if (one.path("username").isTextual()) {
        String both = one.path("username").asText() + ":" + one.path("password").asText();
        return Optional.of(
            "Basic " + Base64.getEncoder().encodeToString(both.getBytes(StandardCharsets.UTF_8)));
      }
    }
    return Optional.empty();
  }
}
