package dev.carrel.sdk;

import java.time.Instant;

/**
 * A skill in a sandbox.
 *
 * @param digest of what was installed, which may be another than the skill's own by now
 * @param path where its files are
 */
public record InstalledSkill(
    String id, String name, int version, String digest, String path, Instant installedAt) {}
