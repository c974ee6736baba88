package dev.carrel.control.skill;

import dev.carrel.spi.SandboxException;
import java.util.List;

/**
 * What came of giving skills to a sandbox.
 *
 * @param installed whose files are there now and were not before
 * @param already whose files were there
 * @param notFound ids or names of none
 * @param failed what the sandbox would not take; it has what it had of these before
 */
public record Installation(
    List<Installed> installed,
    List<Installed> already,
    List<String> notFound,
    List<Failure> failed) {
  public Installation {
    installed = List.copyOf(installed);
    already = List.copyOf(already);
    notFound = List.copyOf(notFound);
    failed = List.copyOf(failed);
  }

  /** One that could not be installed. */
  public record Failure(Skill skill, SandboxException cause) {}
}
