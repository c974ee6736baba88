package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Carrel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Other people's MCP clients, over HTTP and over standard input and output. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class McpClientsIT {
  private static final Path ROOT = Path.of(System.getProperty("carrel.root")).toAbsolutePath();
  private static final Path FOLDER = ROOT.resolve(".carrel").resolve("mcp");
  private static final String PROGRAM = ROOT.resolve("dist/target/carrel/bin/carrel").toString();
  private static final String INSPECTOR =
      "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

  private Path scratch;
  private ServerProcess server;
  private String node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    scratch = folder;
    node = run(ROOT, List.of("build/mcp/prepare", FOLDER.toString()), Map.of()).strip();
    server = Carrel.start(Files.createDirectory(folder.resolve("server")));
  }

  @AfterAll
  void end() throws Exception {
    server.close();
  }

  @Test
  void theTypeScriptSdkDrivesASessionOverHttp() throws Exception {
    assertThat(
            node(
                List.of(
                    ROOT.resolve("build/mcp/session.mjs").toString(),
                    "http",
                    server.address() + "/mcp"),
                Map.of("CARREL_TOKEN", server.token())))
        .contains("session done");
  }

  @Test
  void theTypeScriptSdkDrivesASessionOverStdioWithoutAServer() throws Exception {
    assertThat(
            node(
                List.of(ROOT.resolve("build/mcp/session.mjs").toString(), "stdio", PROGRAM, "mcp"),
                alone("sdk")))
        .contains("session done");
  }

  @Test
  void theInspectorListsAndCallsOverHttp() throws Exception {
    List<String> target =
        List.of(
            server.address() + "/mcp",
            "--transport",
            "http",
            "--header",
            "Authorization: Bearer " + server.token());
    assertThat(
            inspect(target, List.of("--method", "tools/list"), Map.of()).findValuesAsText("name"))
        .contains("execute_code", "Bash");
    assertThat(called(target, Map.of())).contains("42");
  }

  @Test
  void theInspectorListsAndCallsOverStdio() throws Exception {
    var target = new ArrayList<String>();
    // It starts the program with nothing of its own environment.
    alone("inspector").forEach((name, value) -> target.addAll(List.of("-e", name + "=" + value)));
    target.addAll(List.of(PROGRAM, "mcp"));
    assertThat(
            inspect(target, List.of("--method", "tools/list"), Map.of()).findValuesAsText("name"))
        .contains("execute_code", "Bash");
    assertThat(called(target, Map.of())).contains("42");
  }

  private String called(List<String> target, Map<String, String> environment) throws Exception {
    return inspect(
            target,
            List.of(
                "--method", "tools/call", "--tool-name", "execute_code", "--tool-arg", "code=6*7"),
            environment)
        .at("/content/0/text")
        .asText();
  }

  private JsonNode inspect(List<String> target, List<String> what, Map<String, String> environment)
      throws Exception {
    // Its own patience is too short for a machine that is busy with other tests.
    var command = new ArrayList<>(List.of(INSPECTOR, "--cli", "--connect-timeout", "120000"));
    command.addAll(target);
    command.addAll(what);
    return Api.JSON.readTree(node(command, environment));
  }

  /** A desk of its own, where no server runs. */
  private Map<String, String> alone(String name) {
    return Map.of(
        "JAVA_HOME", System.getProperty("java.home"),
        "CARREL_STORAGE_DATA_DIRECTORY", scratch.resolve(name).resolve("data").toString(),
        "CARREL_STORAGE_RUN_DIRECTORY", scratch.resolve(name).resolve("run").toString());
  }

  private String node(List<String> arguments, Map<String, String> environment) throws Exception {
    var command = new ArrayList<>(List.of(node));
    command.addAll(arguments);
    return run(FOLDER, command, environment);
  }

  private String run(Path directory, List<String> command, Map<String, String> environment)
      throws IOException, InterruptedException {
    Path out = Files.createTempFile(scratch, "out", ".txt");
    Path err = Files.createTempFile(scratch, "err", ".txt");
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectOutput(out.toFile())
            .redirectError(err.toFile());
    builder.environment().putAll(environment);
    Process process = builder.start();
    try {
      boolean ended = process.waitFor(5, TimeUnit.MINUTES);
      String said = Files.readString(out) + Files.readString(err);
      assertThat(ended && process.exitValue() == 0).as(command + " said " + said).isTrue();
      return Files.readString(out);
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }
}
