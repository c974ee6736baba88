package dev.carrel.control.sandbox;

import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import dev.carrel.spi.RootImage;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The engines of this server by name, and the choice among them. Never falls back to less isolation
 * than was asked for. Owns the engines: closing it closes them.
 */
public final class Engines implements AutoCloseable {
  /** The cheapest that isolates. */
  private static final String PREFERRED = "native";

  private final Map<String, Engine> byName = new LinkedHashMap<>();
  private final Set<String> allowed;
  private final String defaultEngine;

  public Engines(List<Engine> engines, SandboxSettings settings) {
    // The default one first, whatever order they were found in.
    engines.stream()
        .sorted(Comparator.comparing(engine -> !engine.name().equals(PREFERRED)))
        .forEach(engine -> byName.put(engine.name(), engine));
    this.allowed = settings.allowedEngines();
    this.defaultEngine = settings.defaultEngine();
  }

  /** What each engine can do, for doctors and health pages. */
  public List<Capabilities> capabilities() {
    return byName.values().stream().map(Engine::capabilities).toList();
  }

  /** Why sandboxes of this engine cannot write to their root; empty: they can. */
  public Optional<String> overlayProblem(String engine) {
    return usable(engine)
        .map(Engine::overlayProblem)
        .orElse(Optional.of("engine '" + engine + "' is not usable on this server"));
  }

  /** Lets the usual engine prepare warm interpreters for the image that every server has. */
  public void warm(Language language, Preload preload) {
    usable(usual()).ifPresent(e -> e.warm(new RootImage.Host(), language, preload));
  }

  @Override
  public void close() {
    byName.values().forEach(Engine::close);
  }

  /** The engines that may be used, whether they can be or not: nothing is measured for that. */
  List<Engine> allowed() {
    return byName.values().stream().filter(engine -> allowed.contains(engine.name())).toList();
  }

  /** The engines that may be used and can be. */
  List<Engine> usable() {
    return byName.values().stream()
        .filter(engine -> allowed.contains(engine.name()) && engine.capabilities().usable())
        .toList();
  }

  /**
   * The names of those that can start a sandbox on an image.
   *
   * @param folder whether the image is a root of its own; one that isolates nothing has only the
   *     host's
   */
  public List<String> running(boolean folder) {
    return usable().stream()
        .filter(
            engine ->
                !folder || engine.capabilities().isolation().strength() != Isolation.Strength.NONE)
        .map(Engine::name)
        .toList();
  }

  /** The name of the one for a create that names none; {@code auto} where none can be used. */
  public String usual() {
    if (!defaultEngine.equals(SandboxSettings.AUTO)) {
      return defaultEngine;
    }
    return sufficient(Isolation.Strength.NAMESPACES).map(Engine::name).orElse(defaultEngine);
  }

  /** What a sandbox that names no engine gets; empty where there is none that can be used. */
  public Optional<Capabilities> usualCapabilities() {
    return usable(usual()).map(Engine::capabilities);
  }

  /**
   * Picks an engine.
   *
   * @param name null: the default
   * @param least null: whatever the engine gives
   */
  Engine choose(@Nullable String name, Isolation.@Nullable Strength least) {
    String wanted = name == null ? defaultEngine : name;
    Engine engine = wanted.equals(SandboxSettings.AUTO) ? automatic(least) : named(wanted);
    Isolation.Strength strength = engine.capabilities().isolation().strength();
    if (least != null && strength.compareTo(least) < 0) {
      throw new SandboxException(
              ErrorCode.ISOLATION_NOT_AVAILABLE,
              "isolation: engine '%s' gives %s, not %s"
                  .formatted(engine.name(), wireName(strength), wireName(least)))
          .withHint(strongerHint(least));
    }
    return engine;
  }

  /**
   * The first one that isolates as strongly as that; whoever asks for more pays for more. In the
   * order in which engines are known, so that dear ones are not even measured before they are
   * needed.
   */
  private Optional<Engine> sufficient(Isolation.Strength least) {
    return byName.values().stream()
        .filter(engine -> allowed.contains(engine.name()) && engine.capabilities().usable())
        .filter(engine -> engine.capabilities().isolation().strength().compareTo(least) >= 0)
        .findFirst();
  }

  private Engine automatic(Isolation.@Nullable Strength least) {
    if (least == null || least.compareTo(Isolation.Strength.NAMESPACES) <= 0) {
      return sufficient(Isolation.Strength.NAMESPACES).orElseThrow(this::nothingIsolates);
    }
    return sufficient(least)
        .orElseThrow(
            () ->
                new SandboxException(
                        ErrorCode.ISOLATION_NOT_AVAILABLE,
                        "isolation: no engine on this host gives " + wireName(least))
                    .withHint("run 'carrel doctor' to see what to install or allow"));
  }

  private SandboxException nothingIsolates() {
    return new SandboxException(
            ErrorCode.ENGINE_NOT_AVAILABLE,
            "no engine on this host can isolate a sandbox: " + problems())
        .withHint(
            "run 'carrel doctor' to see what is missing; an engine without isolation is only used"
                + " when it is named and allowed");
  }

  private Engine named(String name) {
    Engine engine = byName.get(name);
    if (engine == null) {
      throw new SandboxException(
          ErrorCode.ENGINE_NOT_AVAILABLE,
          "engine: there is no '%s'; one of %s"
              .formatted(Text.printable(name, 32), byName.keySet()));
    }
    if (!allowed.contains(name)) {
      throw new SandboxException(
              ErrorCode.ENGINE_NOT_AVAILABLE, "engine: '" + name + "' is not allowed here")
          .withHint("the operator can add it to engine.allowed");
    }
    Capabilities capabilities = engine.capabilities();
    if (!capabilities.usable()) {
      throw new SandboxException(
              ErrorCode.ENGINE_NOT_AVAILABLE,
              "engine: '%s' cannot be used on this host: %s"
                  .formatted(name, String.join("; ", capabilities.problems())))
          .withHint("run 'carrel doctor' to see what to install or allow");
    }
    return engine;
  }

  Optional<Engine> find(String name) {
    return Optional.ofNullable(byName.get(name));
  }

  /** By name, if it may be used and can be. */
  Optional<Engine> usable(String name) {
    return find(name).filter(e -> allowed.contains(name) && e.capabilities().usable());
  }

  private String strongerHint(Isolation.Strength least) {
    List<String> others =
        usable().stream()
            .filter(e -> e.capabilities().isolation().strength().compareTo(least) >= 0)
            .map(Engine::name)
            .toList();
    return others.isEmpty()
        ? "no engine on this host isolates that strongly; run 'carrel doctor' for what to install"
        : "ask for engine " + String.join(" or ", others);
  }

  /** Why the first one does not, and who else does not: the whole list is the doctor's to tell. */
  private String problems() {
    List<Engine> all = allowed();
    if (all.isEmpty()) {
      return "none is allowed";
    }
    Engine first = all.getFirst();
    List<String> problems = first.capabilities().problems();
    String others = all.stream().skip(1).map(Engine::name).collect(Collectors.joining(" and "));
    return first.name()
        + ": "
        + (problems.isEmpty() ? "isolates too little" : problems.getFirst())
        + (problems.size() > 1 ? " (and %d more)".formatted(problems.size() - 1) : "")
        + (others.isEmpty() ? "" : "; nor can " + others);
  }

  private static String wireName(Isolation.Strength strength) {
    return strength.name().toLowerCase(Locale.ROOT);
  }
}
