package dev.carrel.server.e2b;

import dev.carrel.control.files.SandboxPath;
import dev.carrel.control.sandbox.Sandbox;
import java.util.Map;

/**
 * E2B's clients know the place for files as /home/user, we as /workspace. A request that uses one
 * name is answered with it.
 *
 * @param inside as control calls it
 * @param renamed whether what is found there is shown below /home/user
 */
record Home(String inside, boolean renamed) {
  static final String USER = "/home/user";

  private static final String HOME = "HOME";

  static Home of(String path) {
    String absolute = SandboxPath.plain(path.startsWith("/") ? path : USER + "/" + path);
    if (isBelow(absolute, USER)) {
      return new Home(Sandbox.WORKSPACE + absolute.substring(USER.length()), true);
    }
    return new Home(absolute, !isBelow(absolute, Sandbox.WORKSPACE));
  }

  /**
   * Who its programs think they are, in a sandbox that one of these clients makes.
   *
   * @param linked whether /home/user is there inside
   */
  static Map<String, String> variables(boolean linked) {
    return linked
        ? Map.of(HOME, USER, "USER", "user", "LOGNAME", "user")
        : Map.of("USER", "user", "LOGNAME", "user");
  }

  /**
   * What a command in this folder has besides its own: shells believe it, and call the folder by
   * the name that the client knows.
   */
  Map<String, String> variables(Sandbox sandbox) {
    return USER.equals(sandbox.envVars().get(HOME)) ? Map.of("PWD", shown(inside)) : Map.of();
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
