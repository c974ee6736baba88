package dev.carrel.server.e2b;

import dev.carrel.control.files.SandboxPath;
import dev.carrel.control.sandbox.Sandbox;

/**
 * E2B's clients know the place for files as /home/user, we as /workspace. A request that uses one
 * name is answered with it.
 *
 * @param inside as control calls it
 * @param renamed whether what is found there is shown below /home/user
 */
record Home(String inside, boolean renamed) {
  static final String USER = "/home/user";

  static Home of(String path) {
    String absolute = SandboxPath.plain(path.startsWith("/") ? path : USER + "/" + path);
    if (isBelow(absolute, USER)) {
      return new Home(Sandbox.WORKSPACE + absolute.substring(USER.length()), true);
    }
    return new Home(absolute, !isBelow(absolute, Sandbox.WORKSPACE));
  }

  /** As the client that asked knows what control calls this. */
  String shown(String path) {
    return renamed && isBelow(path, Sandbox.WORKSPACE)
        ? USER + path.substring(Sandbox.WORKSPACE.length())
        : path;
  }

  private static boolean isBelow(String path, String folder) {
    return path.equals(folder) || path.startsWith(folder + "/");
  }
}
