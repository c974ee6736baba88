package dev.carrel.server.http;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostGuardTest {
  private final HostGuard loopback = new HostGuard(true, Set.of("desk.example"), "");

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
        "Desk.Example"
      })
  void namesOfThisMachineAreServed(String host) {
    assertThatCode(() -> loopback.check(host, null)).doesNotThrowAnyException();
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
        "127..0.1"
      })
  void namesThatWereMadeToPointHereAreNot(String host) {
    assertThatThrownBy(() -> loopback.check(host, null)).isInstanceOf(HttpProblem.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"http://evil.example", "null", "http://localhost:9999", "file://", "not a uri"})
  void otherOriginsAreRefused(String origin) {
    assertThatThrownBy(() -> loopback.check("localhost:8080", origin))
        .isInstanceOf(HttpProblem.class)
        .hasMessageContaining("Origin");
  }

  @Test
  void ownPagesMayCall() {
    assertThatCode(() -> loopback.check("localhost:8080", "http://localhost:8080"))
        .doesNotThrowAnyException();
  }

  @Test
  void beyondLoopbackAnyNameGoesUnlessNamesAreGiven() {
    assertThatCode(() -> new HostGuard(false, Set.of(), "").check("desk.example", null))
        .doesNotThrowAnyException();
    assertThatThrownBy(() -> new HostGuard(false, Set.of("a.example"), "").check("b.example", null))
        .isInstanceOf(HttpProblem.class);
  }
}
