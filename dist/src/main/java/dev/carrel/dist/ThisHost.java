package dev.carrel.dist;

import dev.carrel.bench.BenchCommand;
import dev.carrel.cli.CommandFailure;
import dev.carrel.cli.Endpoint;
import dev.carrel.cli.Host;
import dev.carrel.cli.LocalServer;
import dev.carrel.cli.ServedServer;
import dev.carrel.control.sandbox.LifeSettings;
import dev.carrel.dist.config.Configuration;
import dev.carrel.dist.config.ConfigurationException;
import dev.carrel.dist.config.Environment;
import dev.carrel.spi.Capabilities;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** This machine and user, as the command line sees them. */
final class ThisHost implements Host {
  private static final Duration PATIENCE = Duration.ofSeconds(15);
  private static final int MAX_PORT = 65_535;
  private static final Duration LOOK_AGAIN = Duration.ofMillis(50);

  /** What the operator sets for all others does not hold for a server of a command's own. */
  private static final Map<String, String> OWN =
      Map.of(
          "server.host", "127.0.0.1",
          "server.port", "0",
          "server.tls-certificate", "",
          "server.tls-key", "",
          "server.public-url", "",
          "grpc.enabled", "false",
          "egress.listen", "");

  private final Environment environment;

  ThisHost(Environment environment) {
    this.environment = environment;
  }

  @Override
  public String version() {
    return Optional.ofNullable(ThisHost.class.getPackage().getImplementationVersion())
        .orElse("development");
  }

  @Override
  public boolean colours() {
    return environment.variable("NO_COLOR").isEmpty()
        && !environment.variable("TERM").orElse("dumb").equals("dumb");
  }

  @Override
  public Optional<String> editor() {
    return environment.variable("VISUAL").or(() -> environment.variable("EDITOR"));
  }

  @Override
  public Optional<Endpoint> namedServer() {
    return orFailure(this::serverOfVariables);
  }

  private Optional<Endpoint> serverOfVariables() {
    Optional<String> url = environment.variable("CARREL_URL");
    if (url.isEmpty()) {
      return Optional.empty();
    }
    String token =
        namedToken()
            .orElseThrow(
                () ->
                    new CommandFailure(
                        "CARREL_URL is set, but CARREL_TOKEN is not",
                        "it lies in 'token' in the server's data directory; others get one with"
                            + " 'carrel keys create'"));
    return Optional.of(new Endpoint(serverAddress(url.get()), token));
  }

  private Optional<String> namedToken() {
    Optional<String> token = environment.variable("CARREL_TOKEN");
    if (token.isPresent() && !token.get().chars().allMatch(c -> c > ' ' && c < 127)) {
      throw new ConfigurationException("CARREL_TOKEN holds a character that no token has");
    }
    return token;
  }

  private static URI serverAddress(String url) {
    try {
      URI address = URI.create(url);
      boolean web = "http".equals(address.getScheme()) || "https".equals(address.getScheme());
      if (web && address.getHost() != null && address.getPort() <= MAX_PORT) {
        return address;
      }
    } catch (IllegalArgumentException e) {
      // Said below.
    }
    throw new ConfigurationException(
        "CARREL_URL is not the address of a server, such as http://127.0.0.1:8080: " + url);
  }

  @Override
  public Optional<Endpoint> runningServer() {
    return orFailure(this::findServer);
  }

  private Optional<Endpoint> findServer() {
    Path data = configuration(Map.of()).storage().data();
    // The file alone proves nothing: after a crash another program may have the port by now, and
    // would be sent the token. The lock ends with the process that holds it.
    if (!DataDirectory.isHeld(data)) {
      return Optional.empty();
    }
    // Whoever says who they are must not be taken for the owner of the token file.
    Optional<String> own = namedToken();
    return DataDirectory.published(data)
        .map(found -> new Endpoint(found.address(), own.orElse(found.token())));
  }

  @Override
  public LocalServer startServer() {
    return orFailure(this::start);
  }

  private LocalServer start() {
    Configuration configuration = configuration(OWN);
    DataDirectory data = waitFor(configuration);
    Logging.toFile(configuration.log(), configuration.storage().data());
    return new Local(RunningServer.start(configuration, data), () -> {});
  }

  @Override
  public LocalServer shareServer() {
    return orFailure(this::share);
  }

  private LocalServer share() {
    Configuration configuration = configuration(OWN);
    long end = System.nanoTime() + PATIENCE.toNanos();
    do {
      Optional<Endpoint> running = findServer();
      if (running.isPresent()) {
        return new Joined(running.get());
      }
      Optional<DataDirectory> data = DataDirectory.tryHold(configuration.storage());
      if (data.isPresent()) {
        Logging.toFile(configuration.log(), configuration.storage().data());
        RunningServer server = RunningServer.start(configuration, data.get());
        data.get().publish(server.address(), server.grpcAddress());
        return new Local(server, () -> {});
      }
    } while (System.nanoTime() < end && pause());
    throw inUse(configuration);
  }

  @Override
  public Path program() {
    return environment.home().resolve("bin").resolve("carrel");
  }

  @Override
  public Path runFolder() {
    return orFailure(() -> configuration(Map.of()).storage().run());
  }

  @Override
  public Path userHome() {
    return environment.userHome();
  }

  /** Another command's server goes away by itself, soon. */
  private static DataDirectory waitFor(Configuration configuration) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (System.nanoTime() < end) {
      Optional<DataDirectory> data = DataDirectory.tryHold(configuration.storage());
      if (data.isPresent()) {
        return data.get();
      }
      if (!pause()) {
        break;
      }
    }
    throw inUse(configuration);
  }

  private static boolean pause() {
    try {
      Thread.sleep(LOOK_AGAIN);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static CommandFailure inUse(Configuration configuration) {
    return new CommandFailure(
        "another carrel command is using " + configuration.storage().data(),
        "start a server for many commands at once: carrel serve");
  }

  @Override
  public LocalServer startPassingServer() {
    return orFailure(this::startPassing);
  }

  private LocalServer startPassing() {
    Path folder = temporaryFolder();
    var flags = new HashMap<>(OWN);
    flags.put("storage.data-directory", folder.resolve("data").toString());
    flags.put("storage.run-directory", folder.resolve("run").toString());
    Configuration configuration = configuration(flags);
    DataDirectory data = DataDirectory.tryHold(configuration.storage()).orElseThrow();
    Logging.toFile(configuration.log(), configuration.storage().data());
    return new Local(RunningServer.start(configuration, data), () -> deleteTree(folder));
  }

  @Override
  public ServedServer serve(ServeOptions options) {
    return orFailure(() -> startServing(options));
  }

  private ServedServer startServing(ServeOptions options) {
    Configuration configuration =
        Configuration.load(
            environment, options.file().map(Path::of), keysAndValues(options.settings()));
    Path folder = configuration.storage().data();
    DataDirectory data =
        DataDirectory.tryHold(configuration.storage())
            .orElseThrow(
                () ->
                    new CommandFailure(
                        "a server is already running with the data directory " + folder,
                        DataDirectory.published(folder)
                            .map(running -> "it listens on " + running.address())
                            .orElse("it belongs to a carrel command that will end by itself")));
    Path logFile = Logging.toFileAndStandardError(configuration.log(), folder, options.quiet());
    RunningServer server = RunningServer.start(configuration, data);
    data.publish(server.address(), server.grpcAddress());
    return new Served(
        server,
        data.tokenFile(),
        logFile,
        server.defaultEngine().map(ThisHost::summary),
        configuration.control().sandboxes().life().onShutdown() == LifeSettings.OnShutdown.KEEP);
  }

  @Override
  public List<Setting> settings(ServeOptions options) {
    return orFailure(
        () ->
            Configuration.list(
                    environment, options.file().map(Path::of), keysAndValues(options.settings()))
                .stream()
                .map(one -> new Setting(one.key(), one.value(), one.usual(), one.origin()))
                .toList());
  }

  @Override
  public Map<String, Supplier<Object>> furtherCommands() {
    return Map.of("bench", () -> new BenchCommand(environment.home()));
  }

  /** A wrong setting, as the command line reports failures. */
  private static <T> T orFailure(Supplier<T> call) {
    try {
      return call.get();
    } catch (ConfigurationException e) {
      throw new CommandFailure(String.valueOf(e.getMessage()));
    }
  }

  private Configuration configuration(Map<String, String> flags) {
    return Configuration.load(environment, Optional.empty(), flags);
  }

  private static Map<String, String> keysAndValues(List<String> settings) {
    var flags = new HashMap<String, String>();
    for (String setting : settings) {
      int equals = setting.indexOf('=');
      if (equals < 1) {
        throw new ConfigurationException("--set wants KEY=VALUE, not '" + setting + "'");
      }
      flags.put(setting.substring(0, equals), setting.substring(equals + 1));
    }
    return flags;
  }

  private static Path temporaryFolder() {
    try {
      return Files.createTempDirectory("carrel-run-");
    } catch (IOException e) {
      throw new UncheckedIOException("cannot make a temporary directory", e);
    }
  }

  private static void deleteTree(Path folder) {
    try (Stream<Path> walk = Files.walk(folder)) {
      for (Path path : walk.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot remove " + folder, e);
    }
  }

  private record Joined(Endpoint endpoint) implements LocalServer {
    @Override
    public void close() {
      // It is not ours.
    }
  }

  private record Local(RunningServer server, Runnable after) implements LocalServer {
    @Override
    public Endpoint endpoint() {
      return new Endpoint(server.address(), server.token());
    }

    @Override
    public void close() {
      server.close();
      Logging.end();
      after.run();
    }
  }

  private static ServedServer.Engine summary(Capabilities engine) {
    String isolation = engine.isolation().strength().name().toLowerCase(Locale.ROOT);
    return new ServedServer.Engine(engine.engine(), isolation);
  }

  private record Served(
      RunningServer server,
      Path tokenFile,
      Path logFile,
      Optional<Engine> engine,
      boolean keepsSandboxes)
      implements ServedServer {
    @Override
    public Endpoint endpoint() {
      return new Endpoint(server.address(), server.token());
    }

    @Override
    public Optional<URI> grpc() {
      return server.grpcAddress();
    }

    @Override
    public long sandboxes() {
      return server.sandboxes();
    }

    @Override
    public void close() {
      server.close();
      Logging.end();
    }
  }
}
