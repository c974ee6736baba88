package dev.carrel.engine.testkit;

import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.WarmSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;

/** A JVM of its own that starts one machine and then only waits to be killed. */
final class OtherServer {
  private OtherServer() {}

  public static void main(String[] arguments) throws IOException {
    List<String> missing = List.of(arguments).subList(4, arguments.length);
    Path run = Path.of(arguments[1]);
    var settings =
        new EngineSettings(
            run,
            run.resolve("volumes"),
            Path.of(arguments[2]),
            Set.copyOf(missing),
            WarmSettings.defaults(),
            new DaemonSettings(arguments[3], Map.of(), Path.of("/nonexistent")));
    EngineProvider provider =
        ServiceLoader.load(EngineProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(candidate -> candidate.name().equals(arguments[0]))
            .findFirst()
            .orElseThrow();
    Engine engine = provider.create(settings);
    System.out.println(engine.start(SandboxId.random(), MachineTests.spec()).id());
    System.in.read();
  }

  /** Starts it, learns its machine's id, and kills it without a warning. */
  static SandboxId startAndKill(String engine, EngineSettings settings)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", OtherServer.class.getName()));
    command.addAll(List.of(engine, settings.runDirectory().toString()));
    command.add(settings.libDirectory().toString());
    command.add(settings.daemon().host());
    command.addAll(settings.allowMissing());
    Process server =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (BufferedReader output = server.inputReader(StandardCharsets.UTF_8)) {
      String id = output.readLine();
      if (id == null) {
        throw new AssertionError("the other server started no machine");
      }
      return new SandboxId(id);
    } finally {
      server.destroyForcibly().waitFor();
    }
  }
}
