package dev.carrel.control.skill;

import dev.carrel.spi.SkillId;
import java.time.Instant;

/**
 * A skill in a sandbox.
 *
 * @param digest of what was installed, which may be another than the skill's own by now
 */
public record Installed(SkillId id, String name, String digest, int version, Instant at) {
  /** Absolute, inside the sandbox. */
  public String path() {
    return dev.carrel.control.sandbox.Sandbox.WORKSPACE + "/" + Installer.FOLDER + "/" + name;
  }
}
