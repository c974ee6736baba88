package dev.carrel.engine.docker;

import dev.carrel.spi.SandboxId;
import java.nio.file.Path;
import java.util.Map;

/** What every container of ours carries, so that its server finds it again and no other's. */
final class Labels {
  static final String SANDBOX = "dev.carrel.sandbox";

  /** On containers that are no machines: images are built in them. */
  private static final String BUILD = "dev.carrel.build";

  private static final String ENGINE = "dev.carrel.engine";

  /**
   * The folder where its server keeps what is short-lived. No two servers share one, and a path of
   * this host names the same folder for everybody, since the daemon binds what is in it.
   */
  private static final String OWNER = "dev.carrel.owner";

  private Labels() {}

  static Map<String, String> ofServer(Kind kind, Path runDirectory) {
    return Map.of(ENGINE, kind.engineName(), OWNER, runDirectory.toString());
  }

  static Map<String, String> ofBuild(Path runDirectory) {
    return Map.of(BUILD, "1", OWNER, runDirectory.toString());
  }

  static Map<String, String> ofMachine(Kind kind, Path runDirectory, SandboxId id) {
    return Map.of(ENGINE, kind.engineName(), OWNER, runDirectory.toString(), SANDBOX, id.value());
  }
}
