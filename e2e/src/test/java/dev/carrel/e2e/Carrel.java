package dev.carrel.e2e;

import dev.carrel.bench.ServerProcess;
import dev.carrel.engine.testkit.DockerDaemon;
import dev.carrel.engine.testkit.Leftovers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** One server for all tests of a run; gives tests an {@link Api}. */
public final class Carrel implements BeforeAllCallback, ParameterResolver {
  private static @Nullable Running running;
  private static @Nullable DockerDaemon daemon;

  private record Running(ServerProcess server, Api api, Path folder) implements AutoCloseable {
    @Override
    public void close() throws IOException {
      api.close();
      server.close();
      try (Stream<Path> tree = Files.walk(folder)) {
        for (Path path : tree.sorted(java.util.Comparator.reverseOrder()).toList()) {
          Files.deleteIfExists(path);
        }
      }
    }
  }

  /** Which engine the sandboxes of the tests have that name none; {@code native} unless set. */
  public static final String ENGINE = System.getProperty("carrel.e2e.engine", "native");

  /** Whether its sandboxes have a kernel of their own, which looks otherwise than Linux does. */
  public static final boolean OWN_KERNEL = ENGINE.endsWith("runsc");

  /** Whether files can outlive a sandbox. gVisor takes no mount that a daemon has not made. */
  public static final boolean KEEPS_VOLUMES = !ENGINE.equals("docker-runsc");

  /**
   * A server of the distribution that was just built, on that engine, with its state in the folder.
   */
  public static ServerProcess start(Path folder) throws Exception {
    return start(folder, Map.of());
  }

  /**
   * As {@link #start(Path)}.
   *
   * @param settings variables such as {@code CARREL_POOL_SIZES}
   */
  public static ServerProcess start(Path folder, Map<String, String> settings) throws Exception {
    return start(home(), folder, settings);
  }

  /**
   * As {@link #start(Path, Map)}.
   *
   * @param home another distribution
   */
  public static ServerProcess start(Path home, Path folder, Map<String, String> settings)
      throws Exception {
    var all = new HashMap<>(settings);
    all.put("CARREL_ENGINE_DEFAULT", ENGINE);
    if (ENGINE.startsWith("docker")) {
      all.put("CARREL_DOCKER_HOST", daemon().host());
    }
    return ServerProcess.start(home, folder, all);
  }

  /** The distribution that was just built. */
  public static Path home() {
    return Path.of(System.getProperty("carrel.root"), "dist", "target", "carrel");
  }

  /** One for all servers of the run; it ends with this process, after all of them. */
  private static DockerDaemon daemon() throws IOException {
    synchronized (Carrel.class) {
      if (daemon == null) {
        daemon = DockerDaemon.start();
      }
      return daemon;
    }
  }

  /** For what is to hold with isolation and without: the engine of the run, and none. */
  static Stream<String> engines() {
    return Stream.of(ENGINE, "process");
  }

  public static String token() throws IOException {
    return running().server.token();
  }

  /**
   * What is still on the host of a sandbox that was deleted: its processes, mounts, cgroups,
   * folders and containers.
   */
  public static List<String> leftovers(ServerProcess server, String id) throws IOException {
    List<String> found = new ArrayList<>(Leftovers.of(id, server.runDirectory()));
    try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
      processes
          .filter(path -> path.getFileName().toString().matches("\\d+"))
          .filter(process -> isOf(process, id))
          .map(Path::toString)
          .forEach(found::add);
    }
    if (ENGINE.startsWith("docker") && daemon().containers().contains(id)) {
      found.add("container " + id);
    }
    return found;
  }

  private static boolean isOf(Path process, String id) {
    try {
      return Files.readString(process.resolve("cgroup")).contains(id);
    } catch (IOException gone) {
      return false;
    }
  }

  @Override
  public void beforeAll(ExtensionContext context) throws Exception {
    synchronized (Carrel.class) {
      if (running == null) {
        Path folder = Files.createTempDirectory("carrel-e2e");
        ServerProcess server = start(folder);
        running = new Running(server, new Api(server.address(), server.token()), folder);
        context.getRoot().getStore(ExtensionContext.Namespace.GLOBAL).put(Carrel.class, running);
      }
    }
  }

  private static Running running() {
    if (running == null) {
      throw new IllegalStateException("no server runs");
    }
    return running;
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == Api.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return running().api;
  }
}
