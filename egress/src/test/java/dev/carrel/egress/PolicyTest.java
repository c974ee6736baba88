package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class PolicyTest {
  private static final Presets PRESETS =
      new Presets() {
        @Override
        public Set<String> names() {
          return Set.of("some");
        }

        @Override
        public List<Rule> rules(String name) {
          return name.equals("some") ? List.of(Rule.parse("preset.example")) : List.of();
        }
      };

  private final Judge judge = new Judge(PRESETS, List.of(HostPattern.parse("never.example")));

  @ParameterizedTest
  @CsvSource({
    "example.com, example.com:443, PASS",
    "example.com, example.com:80, PASS",
    "example.com, example.com:22, PORT",
    "example.com, www.example.com:443, NOT_ALLOWED",
    "*.example.com, example.com:443, PASS",
    "*.example.com, a.b.example.com:443, PASS",
    "*.example.com, badexample.com:443, NOT_ALLOWED",
    "example.com:8443, example.com:8443, PASS",
    "example.com:8443, example.com:443, PORT",
    "*.example.com:8443, a.example.com:8443, PASS",
    "93.184.216.34, 93.184.216.34:443, PASS",
    "93.184.216.34, 93.184.216.35:443, NOT_ALLOWED",
    "[2606:2800::1]:443, [2606:2800:0::1]:443, PASS",
    "example.com GET, example.com:443, METHOD_OR_PATH",
    "never.example, never.example:443, DENIED",
  })
  void ruleMeansWhatItSays(String rule, String target, String expected) {
    Policy policy = Policy.NOTHING.withAllow(List.of(Rule.parse(rule)));
    assertThat(tunnel(policy, target)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({
    "example.com GET, GET, /, PASS",
    "example.com get, GET, /, PASS",
    "example.com GET, POST, /, METHOD_OR_PATH",
    "example.com GET, get, /, METHOD_OR_PATH",
    "'example.com GET,HEAD', HEAD, /, PASS",
    "example.com /v1/*, POST, /v1/x, PASS",
    "example.com /v1/*, POST, /v1, METHOD_OR_PATH",
    "example.com /v1/*, GET, /v1/../admin, METHOD_OR_PATH",
    "example.com /v1/*, GET, /v1/%2e%2e/admin, METHOD_OR_PATH",
    "example.com /v1/*, GET, /v1/%2E%2e/admin, METHOD_OR_PATH",
    "example.com /v1/*, GET, /v1/..%2fadmin, METHOD_OR_PATH",
    "example.com /v1/*, GET, /v1//admin, METHOD_OR_PATH",
    "example.com /v1/*, GET, /v1/x;y, METHOD_OR_PATH",
    "example.com /v1/*, GET, /v1/%252e%252e/admin, METHOD_OR_PATH",
    "example.com /v1/*, GET, /V1/x, METHOD_OR_PATH",
    "example.com /exact, GET, /exact, PASS",
    "example.com /exact, GET, /exact/more, METHOD_OR_PATH",
    "example.com GET /a/* /b, GET, /b, PASS",
  })
  void methodsAndPathsBoundPlainRequests(String rule, String method, String path, String expected) {
    Policy policy = Policy.NOTHING.withAllow(List.of(Rule.parse(rule)));
    var asked = new Asked("http", Target.parse("example.com", 80), method, path);
    assertThat(result(policy, asked)).isEqualTo(expected);
  }

  @Test
  void whyNotDoesNotDependOnTheOrderOfTheRules() {
    var rules = List.of(Rule.parse("example.com:8443"), Rule.parse("example.com GET /v1/*"));
    var asked = new Asked("http", Target.parse("example.com", 80), "POST", "/v1/x");
    assertThat(result(Policy.NOTHING.withAllow(rules), asked)).isEqualTo("METHOD_OR_PATH");
    assertThat(result(Policy.NOTHING.withAllow(rules.reversed()), asked))
        .isEqualTo("METHOD_OR_PATH");
    assertThat(tunnel(Policy.NOTHING.withAllow(rules), "example.com:443"))
        .isEqualTo("METHOD_OR_PATH");
  }

  @Test
  void denyGoesOverAllowAndPresets() {
    Policy policy =
        Policy.NOTHING
            .withAllow(List.of(Rule.parse("*.example.com")))
            .withPresets(Set.of("some"))
            .withDeny(
                List.of(
                    HostPattern.parse("*.bad.example.com"), HostPattern.parse("x.example.com:80")));
    assertThat(tunnel(policy, "preset.example:443")).isEqualTo("PASS");
    assertThat(tunnel(policy, "good.example.com:443")).isEqualTo("PASS");
    assertThat(tunnel(policy, "a.bad.example.com:443")).isEqualTo("DENIED");
    assertThat(tunnel(policy, "x.example.com:80")).isEqualTo("DENIED");
    assertThat(tunnel(policy, "x.example.com:443")).isEqualTo("PASS");
    Policy all =
        policy
            .withMode(Policy.Mode.OBSERVE)
            .withDeny(List.of(HostPattern.parse("*.bad.example.com")));
    assertThat(tunnel(all, "whatever.example:9")).isEqualTo("PASS");
    assertThat(tunnel(all, "a.bad.example.com:443")).isEqualTo("DENIED");
    assertThat(tunnel(all, "never.example:443")).isEqualTo("DENIED");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "*",
        "*.",
        "*.com",
        "a.*.com",
        "*a.com",
        "**.a.com",
        "*.1.2.3.4",
        "a:b",
        "",
        "http://a"
      })
  void patternsThatMeanTooMuchAreRefused(String pattern) {
    assertThatIllegalArgumentException().isThrownBy(() -> HostPattern.parse(pattern));
  }

  @Test
  void whatIsWrittenIsReadAgain() {
    Policy policy =
        new Policy(
            Policy.Mode.OBSERVE,
            Stream.of("example.com GET,HEAD /a/* /b", "*.example.org:8443", "[2606:2800::1]:443")
                .map(Rule::parse)
                .toList(),
            List.of(HostPattern.parse("*.bad.example")),
            Set.of("packages", "github"),
            12,
            4096);
    assertThat(Policy.parse(policy.text())).isEqualTo(policy);
    assertThat(Policy.parse(Policy.NOTHING.text())).isEqualTo(Policy.NOTHING);
    assertThat(Policy.NOTHING.text()).isEmpty();
  }

  private String tunnel(Policy policy, String target) {
    return result(policy, Asked.tunnel("connect", Target.parse(target, 0)));
  }

  private String result(Policy policy, Asked asked) {
    try {
      judge.judge(policy, asked);
      return "PASS";
    } catch (RefusedException e) {
      return e.reason().name();
    }
  }
}
