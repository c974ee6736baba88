package dev.carrel.control;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxPage;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.control.sandbox.SteadyClock;
import dev.carrel.engine.testkit.Eventually;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Real control on a real engine, usually {@code process}, with the real guest; nothing is left when
 * it closes.
 */
public final class ControlFixture implements AutoCloseable {
  public static final Caller ALICE = Caller.user("acme", "alice");
  public static final Caller MALLORY = Caller.user("evil", "mallory");

  private final Path root;
  private final String engine;
  private final UnaryOperator<ControlSettings> change;
  private final UnaryOperator<Engine> wrapping;
  private final InstantSource clock;
  private Control control;

  public ControlFixture() throws IOException {
    this(settings -> settings);
  }

  public ControlFixture(UnaryOperator<ControlSettings> change) throws IOException {
    this("process", change);
  }

  public ControlFixture(String engine, UnaryOperator<ControlSettings> change) throws IOException {
    this(engine, change, plain -> plain);
  }

  /**
   * @param wrapping what control sees instead of the engine
   */
  public ControlFixture(
      String engine, UnaryOperator<ControlSettings> change, UnaryOperator<Engine> wrapping)
      throws IOException {
    this(engine, change, wrapping, SteadyClock.system());
  }

  /**
   * @param clock what the ends of sandboxes are decided by
   */
  public ControlFixture(
      String engine,
      UnaryOperator<ControlSettings> change,
      UnaryOperator<Engine> wrapping,
      InstantSource clock)
      throws IOException {
    this.clock = clock;
    this.engine = engine;
    this.wrapping = wrapping;
    // Short, because a socket's path must be.
    this.root = Files.createTempDirectory(Path.of("/tmp"), "ct");
    this.change = change;
    this.control = open();
  }

  public Control control() {
    return control;
  }

  public Path data() {
    return root.resolve("data");
  }

  /** As if the server ended and another one started. */
  public Control restart() {
    control.close();
    return reopen();
  }

  /** Starts the next one where the last was closed already. */
  public Control reopen() {
    control = open();
    return control;
  }

  public Path run() {
    return root.resolve("run");
  }

  public Sandbox sandbox() {
    return control.sandboxes().create(ALICE, CreateSandbox.defaults());
  }

  @Override
  public void close() throws IOException {
    for (Caller owner : List.of(ALICE, MALLORY)) {
      SandboxPage page;
      do {
        page = control.sandboxes().list(owner, SandboxQuery.all());
        page.items().forEach(sandbox -> control.sandboxes().delete(owner, sandbox.id()));
      } while (page.total() > page.items().size());
    }
    control.close();
    eventually(this::removed);
  }

  private boolean removed() {
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
      return true;
    } catch (IOException | UncheckedIOException e) {
      // A volume that was made ahead may just be taken back by who made it.
      return false;
    }
  }

  /** Waits for what must come true by itself. */
  public static void eventually(BooleanSupplier condition) {
    Eventually.holds("what the test waits for", Duration.ofSeconds(60), condition);
  }

  private Control open() {
    Path lib = Path.of(System.getProperty("carrel.lib"));
    var defaults = ControlSettings.defaults(data(), lib);
    var settings = defaults.withSandboxes(defaults.sandboxes().withEngines(engine, Set.of(engine)));
    return Control.open(
        change.apply(settings),
        List.of(wrapping.apply(engine(engine, run(), lib))),
        List.of(),
        clock);
  }

  public static Engine engine(String name, Path run, Path lib) {
    return ServiceLoader.load(EngineProvider.class).stream()
        .map(ServiceLoader.Provider::get)
        .filter(provider -> provider.name().equals(name))
        .findFirst()
        .orElseThrow()
        .create(new EngineSettings(run, run.resolve("volumes"), lib, Set.of()));
  }
}
