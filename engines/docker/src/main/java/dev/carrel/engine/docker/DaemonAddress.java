package dev.carrel.engine.docker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.spi.DaemonSettings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Where the daemon listens. Looked for as its own command line does: a setting, {@code
 * DOCKER_HOST}, the context in use, and at last the usual places, Podman's among them.
 */
final class DaemonAddress {
  private static final String UNIX = "unix://";
  private static final Path USUAL = Path.of("/var/run/docker.sock");
  private static final String DEFAULT_CONTEXT = "default";

  private DaemonAddress() {}

  /**
   * @throws IOException with what to do, where there is an address that is no socket of this host
   */
  static Path find(DaemonSettings settings) throws IOException {
    Map<String, String> variables = settings.variables();
    if (!settings.host().isEmpty()) {
      return socket(settings.host(), "docker.host");
    }
    String host = variables.getOrDefault("DOCKER_HOST", "");
    if (!host.isEmpty()) {
      return socket(host, "DOCKER_HOST");
    }
    Optional<String> context = ofContext(settings);
    if (context.isPresent()) {
      return socket(context.get(), "the context in use");
    }
    return usual(variables.getOrDefault("XDG_RUNTIME_DIR", "")).stream()
        .filter(Files::exists)
        .findFirst()
        .orElse(USUAL);
  }

  private static List<Path> usual(String userRun) {
    Stream<Path> system = Stream.of(USUAL, Path.of("/run/podman/podman.sock"));
    Stream<Path> own =
        userRun.isEmpty()
            ? Stream.of()
            : Stream.of(Path.of(userRun, "docker.sock"), Path.of(userRun, "podman", "podman.sock"));
    return Stream.concat(system, own).toList();
  }

  private static Path socket(String address, String source) throws IOException {
    String path = address.startsWith(UNIX) ? address.substring(UNIX.length()) : address;
    if (!path.startsWith("/")) {
      throw new IOException(
          source
              + " is "
              + address
              + ": only a daemon of this host can be used, by unix:///path/to/its.sock, because its"
              + " sandboxes are made of folders of this host");
    }
    return Path.of(path);
  }

  /** The address in the context that the command line would use; empty for its default one. */
  private static Optional<String> ofContext(DaemonSettings settings) throws IOException {
    String folder = settings.variables().getOrDefault("DOCKER_CONFIG", "");
    Path configuration = folder.isEmpty() ? settings.home().resolve(".docker") : Path.of(folder);
    String name = settings.variables().getOrDefault("DOCKER_CONTEXT", "");
    if (name.isEmpty()) {
      Path file = configuration.resolve("config.json");
      name = Files.isReadable(file) ? read(file).path("currentContext").asText("") : "";
    }
    if (name.isEmpty() || name.equals(DEFAULT_CONTEXT)) {
      return Optional.empty();
    }
    Path meta = configuration.resolve("contexts/meta").resolve(digest(name)).resolve("meta.json");
    if (!Files.isReadable(meta)) {
      throw new IOException("the context '" + name + "' is in use, but there is no " + meta);
    }
    return Optional.of(read(meta).path("Endpoints").path("docker").path("Host").asText(""));
  }

  private static JsonNode read(Path file) throws IOException {
    return new ObjectMapper().readTree(file.toFile());
  }

  private static String digest(String name) {
    try {
      byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every JDK has it
    }
  }
}
