package dev.carrel.sdk;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A folder with instructions for agents.
 *
 * @param sourceType zip or md
 * @param skillMetadata all that its SKILL.md begins with
 * @param digest of the names and contents of its files, whatever they were packed in
 * @param version one more for each upload with another digest
 * @param packageSizeBytes of what was uploaded
 * @param sizeBytes of its files
 * @param files by path; empty where only the skill itself was told
 */
public record SkillInfo(
    String id,
    String name,
    String description,
    String sourceType,
    Map<String, Object> skillMetadata,
    String digest,
    int version,
    long packageSizeBytes,
    long sizeBytes,
    int fileCount,
    String createdBy,
    Instant createdAt,
    Instant updatedAt,
    List<File> files) {
  @SuppressWarnings("NullAway") // absent on the wire where they are not told
  public SkillInfo {
    files = files == null ? List.of() : List.copyOf(files);
  }

  /** One of its files. */
  public record File(String path, long sizeBytes, boolean executable, String digest) {}
}
