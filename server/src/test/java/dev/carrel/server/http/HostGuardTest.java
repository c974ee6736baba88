package dev.carrel.server.http;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostGuardTest {
  private static final SandboxHosts NAMES = SandboxHosts.of("", true, false);
  private static final SandboxHosts NO_NAMES = SandboxHosts.of("", false, false);

  private final HostGuard loopback = new HostGuard(true, Set.of("desk.example"), NAMES);

  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost",
        "localhost:8080",
        "LOCALHOST:1",
        "127.0.0.1:8080",
        "127.1.2.3",
        "[::1]",
        "[::1]:8080",
        "desk.example:443",
        "8000-sbaaaaaaaaaaaaaa.localhost:8080",
        "Desk.Example"
      })
  void namesOfThisMachineAreServed(String host) {
    assertThatCode(() -> loopback.checkHost(host)).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io:80",
        "",
        "10.0.0.1",
        "[::2]",
        "0x7f.0.0.1",
        "127.0.0",
        "127..0.1",
        "evil.localhost",
        "8000-evil.localhost"
      })
  void namesThatWereMadeToPointHereAreNot(String host) {
    assertThatThrownBy(() -> loopback.checkHost(host)).isInstanceOf(HttpProblem.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"http://evil.example", "null", "http://localhost:9999", "file://", "not a uri"})
  void otherOriginsAreRefused(String origin) {
    assertThatThrownBy(() -> HostGuard.checkOrigin("localhost:8080", origin))
        .isInstanceOf(HttpProblem.class)
        .hasMessageContaining("Origin");
  }

  @Test
  void ownPagesMayCall() {
    assertThatCode(() -> HostGuard.checkOrigin("localhost:8080", "http://localhost:8080"))
        .doesNotThrowAnyException();
  }

  @Test
  void beyondLoopbackAnyNameGoesUnlessNamesAreGiven() {
    assertThatCode(() -> new HostGuard(false, Set.of(), NO_NAMES).checkHost("desk.example"))
        .doesNotThrowAnyException();
    assertThatThrownBy(
            () -> new HostGuard(false, Set.of("a.example"), NO_NAMES).checkHost("b.example"))
        .isInstanceOf(HttpProblem.class);
  }
}
