package dev.carrel.sdk;

import java.util.List;

/**
 * What came of giving skills to a sandbox.
 *
 * @param alreadyInstalled whose files were in their place
 * @param notFound ids or names of none
 */
public record SkillInstallation(
    List<InstalledSkill> installed,
    List<InstalledSkill> alreadyInstalled,
    List<String> notFound,
    List<Failure> extractionErrors) {

  /** One that could not be installed. */
  public record Failure(String id, String name, String error, String code) {}

  /** Whether all that were asked for are there. */
  public boolean complete() {
    return notFound.isEmpty() && extractionErrors.isEmpty();
  }
}
