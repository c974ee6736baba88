package dev.carrel.engine.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.DaemonSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** As Docker's own command line looks for its daemon. */
final class DaemonAddressTest {
  /**
   * The command line names a context's folder by the SHA-256 of its name; this is that of 'lab'.
   */
  private static final String LAB =
      "a51146d38077ff992eba84cf1d5e9b249073503eb74868699016153b031a38f7";

  @TempDir Path home;
  private Path configuration;

  @BeforeEach
  void makeContexts() throws IOException {
    configuration = Files.createDirectory(home.resolve(".docker"));
  }

  @Test
  void settingComesBeforeVariablesAndContexts() throws IOException {
    assertThat(find("unix:///srv/a.sock", Map.of("DOCKER_HOST", "unix:///srv/b.sock")))
        .isEqualTo(Path.of("/srv/a.sock"));
    assertThat(find("/srv/a.sock", Map.of())).isEqualTo(Path.of("/srv/a.sock"));
    assertThat(find("", Map.of("DOCKER_HOST", "unix:///srv/b.sock")))
        .isEqualTo(Path.of("/srv/b.sock"));
  }

  @Test
  void contextInUseSaysWhere() throws IOException {
    context("lab", "unix:///srv/lab.sock");
    Files.writeString(configuration.resolve("config.json"), "{\"currentContext\":\"lab\"}");

    assertThat(find("", Map.of())).isEqualTo(Path.of("/srv/lab.sock"));
    assertThat(find("", Map.of("DOCKER_CONTEXT", "default")))
        .isNotEqualTo(Path.of("/srv/lab.sock"));
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> find("", Map.of("DOCKER_CONTEXT", "other")))
        .withMessageContaining("'other'");
  }

  @Test
  void usualPlacesComeLast() throws IOException {
    Path run = Files.createDirectories(home.resolve("run/podman"));
    Path podman = Files.createFile(run.resolve("podman.sock"));

    Path found = find("", Map.of("XDG_RUNTIME_DIR", home.resolve("run").toString()));

    assertThat(found)
        .isIn(podman, Path.of("/var/run/docker.sock"), Path.of("/run/podman/podman.sock"));
  }

  @Test
  void daemonOfAnotherHostIsRefusedWithAReason() {
    for (String address : new String[] {"tcp://10.0.0.1:2376", "ssh://host", "npipe://x"}) {
      assertThatExceptionOfType(IOException.class)
          .isThrownBy(() -> find("", Map.of("DOCKER_HOST", address)))
          .withMessageContaining(address)
          .withMessageContaining("unix://");
      Daemon daemon = Daemon.of(new DaemonSettings(address, Map.of(), home));
      assertThat(daemon.obstacle()).contains("docker.host is " + address);
      assertThatExceptionOfType(IOException.class).isThrownBy(daemon::info);
    }
  }

  private Path find(String host, Map<String, String> variables) throws IOException {
    return DaemonAddress.find(new DaemonSettings(host, variables, home));
  }

  private void context(String name, String host) throws IOException {
    assertThat(name).isEqualTo("lab");
    Path folder = Files.createDirectories(configuration.resolve("contexts/meta").resolve(LAB));
    Files.writeString(
        folder.resolve("meta.json"),
        "{\"Name\":\"%s\",\"Endpoints\":{\"docker\":{\"Host\":\"%s\"}}}".formatted(name, host));
  }
}
