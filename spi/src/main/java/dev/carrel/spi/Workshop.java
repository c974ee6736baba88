package dev.carrel.spi;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Where builds run that need another root than the host's: each as root of a container of its own,
 * with a way to the package sources. It knows nothing of packages; what to do is said in scripts.
 *
 * <p>Safe for many threads. Calls block; interrupting the thread ends them.
 */
public interface Workshop {
  /** As in configuration and on the wire, for example {@code docker}. */
  String name();

  /** Why nothing can be built here now, and what to do about it; empty: it can. */
  Optional<String> problem();

  /**
   * Makes a container that does not run yet. Leaves nothing behind when it throws.
   *
   * @param said told how the image comes, where it has to be fetched first
   * @throws SandboxException {@code IMAGE_SOURCE_FAILED} where the image cannot be had
   */
  Bench open(Task task, Consumer<String> said) throws IOException;

  /** Removes what builds of an earlier server process left behind. */
  void sweep() throws IOException;

  /**
   * What a container is to do.
   *
   * @param image the root that it begins with
   * @param variables of its environment
   */
  record Task(String image, List<String> command, Map<String, String> variables) {
    public Task {
      command = List.copyOf(command);
      variables = Map.copyOf(variables);
    }
  }

  /** One container, for one thread. Closing removes it in whatever state it is. */
  interface Bench extends AutoCloseable {
    /** A file or folder as a tar, named as its last part; empty where there is none. */
    Optional<InputStream> read(String path) throws IOException;

    /** Unpacks a tar in the root. */
    void write(byte[] tar) throws IOException;

    /**
     * Runs the command to its end.
     *
     * @param said told each line that it writes, to either stream
     * @param most after which it is given up
     * @return its status
     */
    int run(Consumer<String> said, Duration most) throws IOException;

    /** All files as a tar, once the command has ended. */
    InputStream export() throws IOException;

    @Override
    void close() throws IOException;
  }
}
