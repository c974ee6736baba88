package dev.carrel.dist;

import dev.carrel.cli.Cli;
import dev.carrel.cli.Endpoint;
import dev.carrel.cli.Host;
import dev.carrel.cli.ServedServer;
import dev.carrel.control.store.Database;
import dev.carrel.dist.config.Environment;
import dev.carrel.sdk.Carrel;
import dev.carrel.sdk.EngineInfo;
import dev.carrel.sdk.ExecOptions;
import dev.carrel.sdk.Sandbox;
import dev.carrel.sdk.SandboxOptions;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;

/**
 * What the packaging runs once to record the AOT cache: the commands that people start most, with
 * the engine that works on every build machine, and a server's frequent requests with each engine
 * among ours that works on this one. Leaves an empty database for new servers to begin with. Not
 * for users, so not among the commands.
 */
final class Training {
  static final String NAME = "train";

  // Those in which a request is quick; the others run the same code around a slower runtime.
  private static final List<String> ENGINES = List.of("native", "process");

  private static final List<List<String>> COMMANDS =
      List.of(
          List.of("--help"),
          List.of("version"),
          List.of("doctor", "--json"),
          List.of("run", "-l", "bash", "-c", "echo trained"),
          List.of("sandbox", "create", "--key", "training"),
          List.of("sandbox", "list"),
          List.of("mcp"),
          List.of("sandbox", "delete", "--all"));

  /** How a program begins that starts {@code carrel mcp}: it waits for the answers. */
  private static final String GREETING =
      """
      {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",\
      "capabilities":{},"clientInfo":{"name":"training","version":"1"}}}
      {"jsonrpc":"2.0","method":"notifications/initialized"}
      {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
      """;

  // Enough for the compiler's thresholds: with the profiles in the cache a new server runs its
  // frequent paths compiled within a second instead of after some thousand requests.
  private static final int REQUESTS = 2000;
  private static final int LIVES = 400;
  private static final int CLAIMS = 200;

  // Where the interpreters of new sandboxes are forked, which is a way of its own.
  private static final String FORKING = "native";
  private static final List<String> POOL =
      List.of("pool.sizes=host@" + FORKING + "=2-4", "pool.languages=host=python");
  private static final Path PYTHON = Path.of("/usr/bin/python3");

  private Training() {}

  /** Returns the first exit code that is not 0, or 0. */
  static int run(Environment environment, String folder, PrintStream err) {
    var variables = new HashMap<>(environment.variables());
    variables.keySet().removeIf(name -> name.startsWith("CARREL_"));
    variables.put("CARREL_ENGINE_DEFAULT", "process");
    variables.put("CARREL_ENGINE_ALLOWED", String.join(",", ENGINES));
    // A build that is interrupted in here leaves none behind.
    variables.put("CARREL_SANDBOX_ON_SHUTDOWN", "stop");
    variables.put("CARREL_STORAGE_DATA_DIRECTORY", folder + "/data");
    variables.put("CARREL_STORAGE_RUN_DIRECTORY", folder + "/run");
    var host =
        new ThisHost(
            new Environment(
                variables, environment.home(), environment.userHome(), environment.root()));
    Database.open(Path.of(folder, "blank.db")).close();
    var nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
    for (List<String> command : COMMANDS) {
      InputStream in =
          command.getFirst().equals("mcp")
              ? new ByteArrayInputStream(GREETING.getBytes(StandardCharsets.UTF_8))
              : InputStream.nullInputStream();
      int code = new Cli(host, in, nowhere, err).run(command);
      // No engine isolates here, and doctor says so with a 1.
      if (code != 0 && !command.getFirst().equals("doctor")) {
        err.println("training failed at " + command + " with " + code);
        return code;
      }
    }
    if (exercise(host)) {
      claim(host);
    }
    return 0;
  }

  /** What a server does all day. Returns whether it could fork interpreters. */
  private static boolean exercise(ThisHost host) {
    boolean forked = false;
    try (ServedServer server = serve(host, List.of());
        Carrel carrel = Carrel.connect(server.endpoint().address(), server.endpoint().token())) {
      for (EngineInfo engine : carrel.engines()) {
        if (engine.usable() && ENGINES.contains(engine.name())) {
          exercise(carrel, server.endpoint(), engine.name());
          forked |= forks(engine.name());
        }
      }
    }
    return forked;
  }

  /** What one does that keeps sandboxes ahead of need. */
  private static void claim(ThisHost host) {
    SandboxOptions options = SandboxOptions.defaults().withEngine(FORKING);
    try (ServedServer server = serve(host, POOL);
        Carrel carrel = Carrel.connect(server.endpoint().address(), server.endpoint().token())) {
      for (int i = 0; i < CLAIMS; i++) {
        Sandbox one = carrel.sandboxes().create(options);
        one.runCode("python", "1 + 1");
        one.delete();
      }
    }
  }

  /** As people start it: with its lines on standard error, and with gRPC. */
  private static ServedServer serve(ThisHost host, List<String> more) {
    var settings = new ArrayList<>(List.of("server.port=0", "grpc.port=0"));
    settings.addAll(more);
    return host.serve(new Host.ServeOptions(Optional.empty(), settings, true));
  }

  private static boolean forks(String engine) {
    return engine.equals(FORKING) && Files.isExecutable(PYTHON);
  }

  private static void exercise(Carrel carrel, Endpoint server, String engine) {
    SandboxOptions options = SandboxOptions.defaults().withEngine(engine);
    Sandbox sandbox = carrel.sandboxes().create(options);
    var command = ExecOptions.of(List.of("/bin/true"));
    for (int i = 0; i < REQUESTS; i++) {
      carrel.health();
      sandbox.runCode("bash", ":");
      if (i % 4 == 0) {
        sandbox.exec(command);
      }
    }
    callTools(server, sandbox.id());
    sandbox.delete();
    for (int i = 0; i < LIVES; i++) {
      Sandbox one = carrel.sandboxes().create(options);
      one.exec(command);
      if (forks(engine)) {
        one.runCode("python", "1 + 1");
      }
      one.delete();
    }
  }

  private static void callTools(Endpoint server, String sandbox) {
    String body =
        """
        {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_code",\
        "arguments":{"session_id":"%s","language":"bash","code":":"},\
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",\
        "io.modelcontextprotocol/clientCapabilities":{}}}}
        """
            .formatted(sandbox);
    var call =
        HttpRequest.newBuilder(server.address().resolve("/mcp"))
            .header("Authorization", "Bearer " + server.token())
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", "execute_code")
            .POST(BodyPublishers.ofString(body))
            .build();
    try (HttpClient http = HttpClient.newHttpClient()) {
      for (int i = 0; i < REQUESTS; i++) {
        HttpResponse<String> answer = http.send(call, BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
          throw new IllegalStateException("a tool answered " + answer.body());
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("a tool did not answer", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }
}
