package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.dist.config.ConfigurationException;
import dev.carrel.dist.config.Environment;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ThisHostTest {
  @Test
  void theServerOfTheVariablesIsUsed() {
    assertThat(host("https://carrel.example:8443/", "secret").settings().server().orElseThrow())
        .satisfies(
            server -> {
              assertThat(server.address()).isEqualTo(URI.create("https://carrel.example:8443/"));
              assertThat(server.token()).isEqualTo("secret");
            });
  }

  @ParameterizedTest
  @ValueSource(strings = {"foo", "ftp://x", "http://x:99999", "http://", "a b"})
  void whatIsNoAddressOfAServerIsSaid(String url) {
    assertThatThrownBy(host(url, "secret")::settings)
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("CARREL_URL")
        .hasMessageContaining(url);
  }

  @Test
  void aTokenThatNoHeaderCanHoldIsSaidButNotShown() {
    assertThatThrownBy(host("http://x", "se\ncret")::settings)
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("CARREL_TOKEN")
        .hasMessageNotContaining("cret");
  }

  private static ThisHost host(String url, String token) {
    return new ThisHost(
        new Environment(
            Map.of("CARREL_URL", url, "CARREL_TOKEN", token), Path.of("/"), Path.of("/"), false));
  }
}
