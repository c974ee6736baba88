package dev.carrel.cli;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** Surroundings in which a server is named, or none is there and none may be started. */
record StubHost(Optional<Endpoint> namedServer, Path userHome) implements Host {
  @Override
  public String version() {
    return "test";
  }

  @Override
  public boolean colours() {
    return false;
  }

  @Override
  public Optional<Endpoint> runningServer() {
    return Optional.empty();
  }

  @Override
  public LocalServer startServer() {
    throw new CommandFailure("a server was started");
  }

  @Override
  public LocalServer startPassingServer() {
    return startServer();
  }

  @Override
  public LocalServer shareServer() {
    return startServer();
  }

  @Override
  public Path program() {
    return Path.of("/opt/carrel/bin/carrel");
  }

  /** A script that a test has put there. */
  @Override
  public Optional<String> editor() {
    return Optional.of("sh " + userHome.resolve("editor"));
  }

  @Override
  public Path runFolder() {
    return userHome;
  }

  @Override
  public ServedServer serve(ServeOptions options) {
    throw new CommandFailure("a server was started");
  }

  @Override
  public List<Setting> settings(ServeOptions options) {
    return List.of(
        new Setting("exec.spill", "64MiB", "64MiB", Optional.empty()),
        new Setting("sandbox.pids", "99", "512", Optional.of("the command line")));
  }

  @Override
  public Map<String, Supplier<Object>> furtherCommands() {
    return Map.of();
  }
}
