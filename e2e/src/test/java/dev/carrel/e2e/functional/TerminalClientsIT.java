package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Terminals of others, as their package manager installs them, on a shell in a sandbox. */
class TerminalClientsIT {
  @Test
  void xterm(@TempDir Path folder) throws Exception {
    var program = new ClientProgram("npm-xterm");
    program.write("package.json", "{\"private\":true}");
    program.succeed(
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "@xterm/headless@6.0.0",
        "@xterm/addon-attach@0.12.0",
        "ws@8.18.3");
    program.copy("xterm.mjs");
    try (ServerProcess server = Carrel.start(folder, Map.of());
        var api = new Api(server.address(), server.token());
        Box box = api.create("{\"memory_mb\":128}")) {
      assertThat(
              program.run(
                  List.of(
                      "node", "xterm.mjs", server.address().toString(), server.token(), box.id())))
          .contains(" passed, 0 failed");
    }
  }
}
