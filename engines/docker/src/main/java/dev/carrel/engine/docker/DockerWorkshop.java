package dev.carrel.engine.docker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import dev.carrel.spi.Workshop;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Builds in containers of a daemon. They carry labels: those of a server that was killed are
 * removed by the next one, and by nobody else.
 */
final class DockerWorkshop implements Workshop {
  private static final Duration PULL = Duration.ofMinutes(30);
  private static final int SHOWN = 300;

  /** Docker's own name for the network that containers are on when nobody says otherwise. */
  private static final String BRIDGE = "bridge";

  /** None of them is anything to a package that is being installed. */
  private static final List<String> NEEDLESS =
      List.of("NET_RAW", "NET_BIND_SERVICE", "MKNOD", "SETPCAP");

  private final Daemon daemon;
  private final Map<String, String> labels;
  private final Set<String> open = ConcurrentHashMap.newKeySet();

  DockerWorkshop(EngineSettings settings) {
    this.daemon = Daemon.of(settings.daemon());
    Path run = settings.runDirectory().toAbsolutePath().normalize();
    this.labels = Labels.ofBuild(run);
  }

  @Override
  public String name() {
    return "docker";
  }

  @Override
  public Optional<String> problem() {
    String obstacle = daemon.obstacle();
    if (!obstacle.isEmpty()) {
      return Optional.of(obstacle);
    }
    try {
      daemon.info();
      return Optional.empty();
    } catch (IOException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  @Override
  public Bench open(Task task, Consumer<String> said) throws IOException {
    if (!daemon.hasImage(task.image())) {
      pull(task.image(), said);
    }
    String name = "carrel-build-" + UUID.randomUUID();
    open.add(name);
    var bench = new DockerBench(daemon, name, () -> open.remove(name));
    try {
      daemon.create(name, request(task));
      return bench;
    } catch (IOException | RuntimeException e) {
      // It may have been made all the same.
      try (bench) {
        throw e;
      }
    }
  }

  @Override
  public void sweep() throws IOException {
    for (JsonNode container : daemon.list(labels)) {
      if (!isOpen(container)) {
        Remains.removeContainer(daemon, container.path("Id").asText());
      }
    }
  }

  private boolean isOpen(JsonNode container) {
    for (JsonNode name : container.path("Names")) {
      if (open.contains(name.asText("").replaceFirst("^/", ""))) {
        return true;
      }
    }
    return false;
  }

  private void pull(String image, Consumer<String> said) {
    said.accept("the daemon pulls " + image);
    try (DaemonSocket.Stream answer = daemon.pull(image, PULL);
        var _ = new DaemonSocket.Deadline(answer.channel(), PULL);
        MappingIterator<JsonNode> news =
            new ObjectMapper().readerFor(JsonNode.class).readValues(answer.body())) {
      while (news.hasNextValue()) {
        JsonNode one = news.nextValue();
        if (one.has("error")) {
          throw new IOException(Text.printable(one.path("error").asText(""), SHOWN));
        }
        // How far each part is would be thousands of lines.
        if (one.path("progressDetail").isEmpty()) {
          String text = (one.path("id").asText("") + " " + one.path("status").asText("")).strip();
          said.accept(Text.printable(text, SHOWN));
        }
      }
      if (!daemon.hasImage(image)) {
        throw new IOException("it broke off");
      }
    } catch (IOException e) {
      throw new SandboxException(
          ErrorCode.IMAGE_SOURCE_FAILED,
          "the daemon has no image %s and cannot pull it: %s; load it there, or name another Debian or Ubuntu image with image.build-base"
              .formatted(image, e.getMessage()),
          e);
    }
  }

  private Map<String, Object> request(Task task) throws IOException {
    var request = new LinkedHashMap<String, Object>();
    request.put("Image", task.image());
    request.put("User", "0:0");
    request.put("WorkingDir", "/");
    request.put(
        "Env",
        task.variables().entrySet().stream().map(e -> e.getKey() + "=" + e.getValue()).toList());
    request.put("Entrypoint", task.command());
    request.put("Cmd", List.of());
    request.put("Healthcheck", Map.of("Test", List.of("NONE")));
    request.put("Labels", labels);
    request.put("HostConfig", hostConfig());
    return request;
  }

  private Map<String, Object> hostConfig() throws IOException {
    var config = new LinkedHashMap<String, Object>();
    config.put("NetworkMode", network());
    config.put("CapDrop", NEEDLESS);
    config.put("SecurityOpt", List.of("no-new-privileges"));
    config.put("PidsLimit", 4096);
    config.put("RestartPolicy", Map.of("Name", "no"));
    config.put(
        "LogConfig",
        Map.of("Type", "json-file", "Config", Map.of("max-size", "64m", "max-file", "1")));
    return config;
  }

  /** A daemon that was told to have no network of its own can lend the host's. */
  private String network() throws IOException {
    boolean none = daemon.info().name().equals("docker") && !daemon.hasNetwork(BRIDGE);
    return none ? "host" : "default";
  }
}
