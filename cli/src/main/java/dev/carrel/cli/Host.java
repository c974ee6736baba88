package dev.carrel.cli;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * What the command line needs from the program around it: settings, and servers. The command line
 * itself knows servers by their address only.
 */
public interface Host {
  String version();

  /** False when NO_COLOR is set or the terminal is dumb. */
  boolean colours();

  /** A server that the caller's surroundings name, winning over any found. */
  Optional<Endpoint> namedServer();

  /** A server of this user that was started with {@code serve} and still runs. */
  Optional<Endpoint> runningServer();

  /**
   * A server in this process. Its sandboxes and files are those of {@code serve}, so they are there
   * for the next command.
   */
  LocalServer startServer();

  /** A server in this process that keeps nothing: all is gone when it is closed. */
  LocalServer startPassingServer();

  /**
   * A server to share with other commands of this user: the one that runs, or one in this process,
   * which they find as long as this process lives. Closing it ends only one of our own.
   */
  LocalServer shareServer();

  /** The program that this is, for others to start. */
  Path program();

  Path userHome();

  /** The editor that the caller's surroundings name: the beginning of a line of shell. */
  Optional<String> editor();

  /** Where a server of this user keeps what ends with its sandboxes. */
  Path runFolder();

  /** A server in this process for everybody else on this machine. */
  ServedServer serve(ServeOptions options);

  /** Every setting as a server with these options would have it. */
  List<Setting> settings(ServeOptions options);

  /** Further commands of the program by name, as picocli takes them. */
  Map<String, Supplier<Object>> furtherCommands();

  /**
   * A setting as it is in force.
   *
   * @param usual its default
   * @param origin who has set it; empty: nobody
   */
  record Setting(String key, String value, String usual, Optional<String> origin) {}

  /**
   * How {@code serve} was called.
   *
   * @param settings of the form {@code key=value}
   * @param quiet whether a person is looking, who wants problems only
   */
  record ServeOptions(Optional<String> file, List<String> settings, boolean quiet) {
    public ServeOptions {
      settings = List.copyOf(settings);
    }
  }
}
