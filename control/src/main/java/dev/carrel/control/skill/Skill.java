package dev.carrel.control.skill;

import dev.carrel.spi.SkillId;
import java.time.Instant;
import java.util.Locale;

/**
 * A skill, without its files.
 *
 * @param name the tenant's own; stays with the id
 * @param frontMatter all that SKILL.md begins with, as a JSON object
 * @param digest of the names and contents of its files, whatever they were packed in
 * @param version 1, and one more for each upload with another digest
 * @param packageBytes of what was uploaded
 * @param sizeBytes of its files
 */
public record Skill(
    SkillId id,
    String tenant,
    String name,
    String description,
    String frontMatter,
    Source source,
    String digest,
    int version,
    long packageBytes,
    long sizeBytes,
    int fileCount,
    String createdBy,
    Instant createdAt,
    Instant updatedAt) {
  /** The file that makes a folder a skill. */
  public static final String MAIN = "SKILL.md";

  /** What was uploaded. */
  public enum Source {
    ZIP,
    MD;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Where its files are in a sandbox. */
  public String folder() {
    return Installer.FOLDER + "/" + name;
  }
}
