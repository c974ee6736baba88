package dev.carrel.control.packages;

import dev.carrel.control.exec.ExecResult;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What came of installing.
 *
 * @param success whether the client said so, and every package is there
 * @param exec the client's run
 * @param installed those asked for, as they are now
 * @param resolved all that the client chose to install for them, dependencies too
 */
public record Installation(
    PackageClient client,
    boolean success,
    ExecResult exec,
    List<Installed> installed,
    List<Installed> resolved) {
  public Installation {
    installed = List.copyOf(installed);
    resolved = List.copyOf(resolved);
  }

  /** A package; version null: it is not there. */
  public record Installed(String name, @Nullable String version) {}
}
