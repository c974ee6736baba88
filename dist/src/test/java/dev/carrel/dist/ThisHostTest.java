package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.cli.Cli;
import dev.carrel.cli.CommandFailure;
import dev.carrel.cli.Host;
import dev.carrel.dist.config.Configuration;
import dev.carrel.dist.config.Environment;
import dev.carrel.server.auth.TokenFile;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ThisHostTest {
  @Test
  void theServerOfTheVariablesIsUsed() {
    assertThat(host("https://carrel.example:8443/", "secret").namedServer().orElseThrow())
        .satisfies(
            server -> {
              assertThat(server.address()).isEqualTo(URI.create("https://carrel.example:8443/"));
              assertThat(server.token()).isEqualTo("secret");
            });
  }

  @ParameterizedTest
  @ValueSource(strings = {"foo", "ftp://x", "http://x:99999", "http://", "a b"})
  void whatIsNoAddressOfAServerIsSaid(String url) {
    assertThatThrownBy(host(url, "secret")::namedServer)
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("CARREL_URL")
        .hasMessageContaining(url);
  }

  @Test
  void aTokenThatNoHeaderCanHoldIsSaidButNotShown() {
    assertThatThrownBy(host("http://x", "se\ncret")::namedServer)
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("CARREL_TOKEN")
        .hasMessageNotContaining("cret");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "version", "completion"})
  void whatNeedsNoServerNeedsNoToken(String command) {
    var host = new ThisHost(environment(Map.of("CARREL_URL", "http://x")));
    assertThatThrownBy(host::namedServer)
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("CARREL_TOKEN is not");
    var out = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
    int code = new Cli(host, InputStream.nullInputStream(), out, out).run(List.of(command));
    assertThat(code).isZero();
  }

  @Test
  void aTokenAloneIsForTheServerThatRunsHere(@TempDir Path folder) throws IOException {
    var here = Map.of("CARREL_STORAGE_DATA_DIRECTORY", folder.resolve("data").toString());
    var named = new HashMap<>(here);
    named.put("CARREL_TOKEN", "mine");
    var storage = Configuration.load(environment(here), Optional.empty(), Map.of()).storage();
    try (DataDirectory data = DataDirectory.tryHold(storage).orElseThrow()) {
      TokenFile.openOrCreate(data.tokenFile());
      data.publish(URI.create("http://127.0.0.1:1"), Optional.empty());

      assertThat(token(here)).isEqualTo(TokenFile.firstToken(data.tokenFile()));
      assertThat(token(named)).isEqualTo("mine");
    }
  }

  @Test
  void settingsAreThoseOfTheOptions(@TempDir Path folder) throws IOException {
    Path file = Files.writeString(folder.resolve("f"), "exec.default-timeout=7s\n");
    var host = new ThisHost(environment(Map.of("CARREL_SANDBOX_PIDS", "99")));

    assertThat(host.settings(options(file, "queue.max-waiting=3")))
        .contains(
            new Host.Setting("exec.default-timeout", "7s", "2m", Optional.of(file.toString())),
            new Host.Setting(
                "sandbox.pids", "99", "512", Optional.of("the variable CARREL_SANDBOX_PIDS")),
            new Host.Setting("exec.spill", "64MiB", "64MiB", Optional.empty()))
        .anyMatch(one -> one.origin().equals(Optional.of("the command line")));
    assertThatThrownBy(
            () -> host.settings(options(folder.resolve("absent"), "queue.max-waiting=3")))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("absent");
    assertThatThrownBy(() -> host.settings(options(file, "nonsense=1")))
        .isInstanceOf(CommandFailure.class)
        .hasMessageContaining("nonsense");
  }

  private static Host.ServeOptions options(Path file, String setting) {
    return new Host.ServeOptions(Optional.of(file.toString()), List.of(setting), true);
  }

  private static String token(Map<String, String> variables) {
    return new ThisHost(environment(variables)).runningServer().orElseThrow().token();
  }

  private static Environment environment(Map<String, String> variables) {
    return new Environment(variables, Path.of("/"), Path.of("/"), false);
  }

  private static ThisHost host(String url, String token) {
    return new ThisHost(environment(Map.of("CARREL_URL", url, "CARREL_TOKEN", token)));
  }
}
