package dev.carrel.dist.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EnvironmentTest {
  @Test
  void rootHasTheFoldersOfAService() {
    Environment root = environment(Map.of("XDG_DATA_HOME", "/elsewhere"), true);

    assertThat(root.dataHome()).isEqualTo(Path.of("/var/lib/carrel"));
    assertThat(root.runHome()).isEqualTo(Path.of("/run/carrel"));
    assertThat(root.configurationFile()).isEqualTo(Path.of("/etc/carrel/carrel.properties"));
  }

  @Test
  void othersHaveTheFoldersOfTheXdgRules(@TempDir Path runtime) {
    Environment user =
        environment(
            Map.of("XDG_DATA_HOME", "/d", "XDG_CONFIG_HOME", "/c", "XDG_RUNTIME_DIR", "" + runtime),
            false);

    assertThat(user.dataHome()).isEqualTo(Path.of("/d/carrel"));
    assertThat(user.runHome()).isEqualTo(runtime.resolve("carrel"));
    assertThat(user.configurationFile()).isEqualTo(Path.of("/c/carrel/carrel.properties"));
  }

  @Test
  void relativeXdgFoldersAreIgnored() {
    Environment user = environment(Map.of("XDG_DATA_HOME", "relative"), false);

    assertThat(user.dataHome()).isEqualTo(Path.of("/home/ada/.local/share/carrel"));
    assertThat(user.runHome()).isEqualTo(Path.of("/home/ada/.local/share/carrel/run"));
  }

  @Test
  void homeIsWhatTheVariableSaysUnlessItSaysNothing() {
    assertThat(Environment.userHome(Map.of("HOME", "/h"), "/home/ada")).isEqualTo(Path.of("/h"));
    for (Map<String, String> unsaid :
        List.of(Map.<String, String>of(), Map.of("HOME", ""), Map.of("HOME", "h"))) {
      assertThat(Environment.userHome(unsaid, "/home/ada")).isEqualTo(Path.of("/home/ada"));
    }
  }

  private static Environment environment(Map<String, String> variables, boolean root) {
    return new Environment(variables, Path.of("/opt/carrel"), Path.of("/home/ada"), root);
  }
}
