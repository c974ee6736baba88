package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class HostTest {
  @ParameterizedTest
  @CsvSource({
    "example.com, example.com",
    "EXAMPLE.Com, example.com",
    "example.com., example.com",
    "a_b.example, a_b.example",
    "localhost, localhost",
    "xn--bcher-kva.example, xn--bcher-kva.example",
    "bücher.example, xn--bcher-kva.example",
    "BÜCHER.example, xn--bcher-kva.example",
    "93.184.216.34, 93.184.216.34",
    "93.184.216.34., 93.184.216.34",
    "[2001:DB8:0:0:0:0:0:1], 2001:db8::1",
    "[::1], ::1",
    "[2001:db8:0:1:1:1:1:1], 2001:db8:0:1:1:1:1:1",
    "[fd00:ec2::254], fd00:ec2::254",
  })
  void hasOneForm(String written, String canonical) {
    assertThat(Host.parse(written).text()).isEqualTo(canonical);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ".",
        "..",
        "a..b",
        "example.com..",
        ".example.com",
        "-a.example",
        "a-.example",
        "a b.example",
        "a\tb.example",
        "a\0.example",
        "a\r\n.example",
        "user@example.com",
        "example.com/",
        "example.com\\",
        "example.com#",
        "example.com?",
        "exa%6dple.com",
        "example.com:80",
        "*.example.com",
        // numeric forms of IPv4
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "127.0.0.01",
        "127.0.0.256",
        "127.0.0.0x1",
        "1.2.3.4.5",
        "example.123",
        "example.0x1f",
        "127.0.0.1..",
        // IPv6 that is more than an address
        "::1",
        "[::1",
        "[fe80::1%eth0]",
        "[fe80::1%251]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[1.2.3.4]",
        "[]",
        "[:]",
        "[::1]x",
        // IDN with a second reading
        "\uff45xample.com",
        "example\u3002com",
        "stra\u00dfe.example",
        "exam\u200dple.com",
        "exam\u00adple.com",
        "ex\u0430mple\u0000.com",
        "\u2460.example",
        "127\u30020.0.1",
      })
  void whatCanBeReadInTwoWaysIsRefused(String written) {
    assertThatIllegalArgumentException().isThrownBy(() -> Host.parse(written));
  }

  @Test
  void aHomographIsAnotherHost() {
    assertThat(Host.parse("ex\u0430mple.com")).isNotEqualTo(Host.parse("example.com"));
    assertThat(Host.parse("ex\u0430mple.com").text()).startsWith("xn--");
  }

  @Test
  void namesAreBounded() {
    assertThatIllegalArgumentException().isThrownBy(() -> Host.parse("a".repeat(64) + ".example"));
    assertThatIllegalArgumentException().isThrownBy(() -> Host.parse("a.".repeat(130) + "example"));
    assertThat(Host.parse("a".repeat(63) + ".example").isName()).isTrue();
  }

  @Test
  void suffixIsWholeLabels() {
    Host suffix = Host.parse("example.com");
    assertThat(Host.parse("example.com").within(suffix)).isTrue();
    assertThat(Host.parse("a.b.example.com").within(suffix)).isTrue();
    assertThat(Host.parse("badexample.com").within(suffix)).isFalse();
    assertThat(Host.parse("example.com.evil.example").within(suffix)).isFalse();
  }

  /** Whatever comes in, what comes out is a fixed point and holds nothing but what a name may. */
  @Test
  void parsingIsIdempotentForRandomInput() {
    var random = new Random(4);
    String alphabet = "aZ09.-_:[]%@/\\ \t\0xX\u00e4\u00df\u3002\u0430\uff10*#?";
    int accepted = 0;
    for (int i = 0; i < 200_000; i++) {
      var text = new StringBuilder();
      for (int length = random.nextInt(12); length > 0; length--) {
        text.append(alphabet.charAt(random.nextInt(alphabet.length())));
      }
      Host host;
      try {
        host = Host.parse(text.toString());
      } catch (IllegalArgumentException refused) {
        continue;
      }
      accepted++;
      assertThat(Host.parse(host.toString())).isEqualTo(host);
      assertThat(host.text()).matches("[a-z0-9._:-]+").doesNotEndWith(".");
      assertThat(host.address().isPresent()).isEqualTo(!host.isName());
    }
    assertThat(accepted).isGreaterThan(1000);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "example.com",
        "example.com:",
        "example.com:0",
        "example.com:65536",
        "example.com:080",
        "example.com:+80",
        "example.com: 80",
        "a:1:2",
        "user@example.com:80",
        "user:pass@example.com:80",
        "[::1]:80:90",
        ":80"
      })
  void targetIsHostAndPortAlone(String authority) {
    assertThatIllegalArgumentException().isThrownBy(() -> Target.parse(authority, 0));
  }

  @Test
  void targetKnowsItsUsualPort() {
    assertThat(Target.parse("example.com", 80)).isEqualTo(Target.parse("EXAMPLE.com.:80", 0));
    assertThat(Target.parse("[::1]:443", 0).toString()).isEqualTo("[::1]:443");
    assertThat(Target.parse("example.com:80", 0).authority(80)).isEqualTo("example.com");
  }
}
