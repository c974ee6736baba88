package dev.carrel.cli;

import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;

/** A server for others, as {@code serve} announces it. */
public interface ServedServer extends LocalServer {
  Path tokenFile();

  Path logFile();

  /** Where gRPC is served; empty when it has no port of its own. */
  Optional<URI> grpc();

  /** What a sandbox that names no engine gets; empty when there is none that can be used. */
  Optional<Engine> engine();

  /** How many sandboxes have a machine now. */
  long sandboxes();

  /** Whether they go on when it is closed; else it stops them. */
  boolean keepsSandboxes();

  /** An engine's name and how strongly it isolates. */
  record Engine(String name, String isolation) {}
}
