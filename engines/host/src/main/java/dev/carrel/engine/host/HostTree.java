package dev.carrel.engine.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Whole trees that commands had to themselves: paths may be longer than any one call takes, folders
 * closed even to us and links lead anywhere, so the work is left to the system's own tools, which
 * know all of that.
 */
public final class HostTree {
  private static final long SECONDS = 600;

  private HostTree() {}

  public static void remove(Path path) throws IOException {
    if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)
        && !succeeds("rm", "-rf", "--", path.toString())) {
      succeeds("chmod", "-R", "u+rwX", "--", path.toString());
      if (!succeeds("rm", "-rf", "--", path.toString())) {
        throw new IOException("cannot remove " + path);
      }
    }
  }

  /** Lets everybody read them who finds a way there, and all they hold; no link is followed. */
  public static void show(List<Path> paths) throws IOException {
    var command = new ArrayList<>(List.of("chmod", "-R", "a+rX", "--"));
    paths.forEach(path -> command.add(path.toString()));
    if (!succeeds(command.toArray(String[]::new))) {
      throw new IOException("cannot make readable: " + paths);
    }
  }

  /** Copies a folder with all it holds, links as links. */
  public static void copy(Path from, Path to) throws IOException {
    if (!succeeds("cp", "-aT", "--reflink=auto", "--", from.toString(), to.toString())) {
      throw new IOException("cannot copy all of " + from);
    }
  }

  /** Bytes that it takes on disk. */
  public static long size(Path path) throws IOException {
    Process process =
        new ProcessBuilder("du", "-s", "-B1", "--", path.toString())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (var answer = process.inputReader()) {
      String line = answer.readLine();
      if (line == null) {
        throw new IOException("cannot measure " + path);
      }
      return Long.parseLong(line.substring(0, line.indexOf('\t')));
    } finally {
      process.destroyForcibly();
    }
  }

  private static boolean succeeds(String... command) throws IOException {
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      return process.waitFor(SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      process.destroyForcibly();
    }
  }
}
