package dev.carrel.dist;

import dev.carrel.cli.Cli;
import dev.carrel.cli.Host;
import dev.carrel.cli.LocalServer;
import dev.carrel.cli.ServedServer;
import dev.carrel.dist.config.Environment;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** A user of the command line in a folder of its own, with the engine that works everywhere. */
final class Desk {
  private final ThisHost host;

  Desk(Path folder) throws IOException {
    this(folder, Map.of());
  }

  /** With further variables. */
  Desk(Path folder, Map<String, String> more) throws IOException {
    Path home = Files.createDirectories(folder.resolve("home"));
    Files.createSymbolicLink(
        home.resolve("libexec"), Path.of(System.getProperty("carrel.lib", "")));
    var variables = new HashMap<>(more);
    variables.put("CARREL_ENGINE_DEFAULT", "process");
    variables.put("CARREL_ENGINE_ALLOWED", "process");
    variables.put("CARREL_STORAGE_DATA_DIRECTORY", folder.resolve("data").toString());
    variables.put("CARREL_STORAGE_RUN_DIRECTORY", folder.resolve("run").toString());
    host = new ThisHost(new Environment(variables, home, folder, false));
  }

  /** What a command did. */
  record Outcome(int code, String out, String err) {}

  /** A server that every further command finds. */
  ServedServer serve() {
    return host.serve(new Host.ServeOptions(Optional.empty(), List.of("server.port=0"), true));
  }

  /** The servers of commands that find none. */
  List<Supplier<LocalServer>> ownServers() {
    return List.of(host::startServer, host::shareServer, host::startPassingServer);
  }

  Outcome carrel(String... arguments) {
    return carrelWith("", arguments);
  }

  Outcome carrelWith(String input, String... arguments) {
    return carrelWith(input.getBytes(StandardCharsets.UTF_8), arguments);
  }

  Outcome carrelWith(byte[] input, String... arguments) {
    return carrelWith(input, new ByteArrayOutputStream(), arguments);
  }

  /** With the reader of standard output gone. */
  Outcome carrelUnread(String... arguments) {
    var unread =
        new ByteArrayOutputStream() {
          @Override
          public void flush() throws IOException {
            throw new IOException("Broken pipe");
          }
        };
    return carrelWith(new byte[0], unread, arguments);
  }

  private Outcome carrelWith(byte[] input, ByteArrayOutputStream out, String... arguments) {
    var err = new ByteArrayOutputStream();
    int code =
        new Cli(
                host,
                new ByteArrayInputStream(input),
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8))
            .run(List.of(arguments));
    return new Outcome(
        code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }
}
