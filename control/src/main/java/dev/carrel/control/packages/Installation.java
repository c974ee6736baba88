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
 */
public record Installation(
    PackageClient client, boolean success, ExecResult exec, List<Installed> installed) {
  public Installation {
    installed = List.copyOf(installed);
  }

  /** A package; version null: it is not there. */
  public record Installed(String name, @Nullable String version) {}
}
