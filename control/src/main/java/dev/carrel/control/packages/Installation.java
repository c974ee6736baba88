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
 * @param files how many files came from where
 */
public record Installation(
    PackageClient client,
    boolean success,
    ExecResult exec,
    List<Installed> installed,
    List<Installed> resolved,
    Files files) {
  public Installation {
    installed = List.copyOf(installed);
    resolved = List.copyOf(resolved);
  }

  /**
   * Files of packages.
   *
   * @param cached that the server had already
   * @param fetched that it fetched now, and has from now on
   */
  public record Files(int cached, int fetched) {
    static final Files NONE = new Files(0, 0);
  }

  /** A package; version null: it is not there. */
  public record Installed(String name, @Nullable String version) {}
}
