package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Case N04: what a name server says is believed once, and only if all of it may be dialled. */
final class ResolverTest {
  private static final Addresses ADDRESSES = new Addresses(List.of(), List.of());
  private static final Target TARGET = Target.parse("name.example:443", 0);

  private final List<String> asked = new ArrayList<>();

  @Test
  void everyAddressOfANameMustBeTheInternet() throws Exception {
    for (List<String> answer :
        List.of(
            List.of("127.0.0.1"),
            List.of("93.184.216.34", "10.0.0.1"),
            List.of("93.184.216.34", "fd00:ec2::254"),
            List.of("2606:2800::1", "169.254.169.254"))) {
      asked.clear();
      try (var resolver = new Resolver(Map.of(), ADDRESSES, answering(List.of(answer)))) {
        assertThatExceptionOfType(RefusedException.class)
            .isThrownBy(() -> resolver.resolve(TARGET))
            .matches(e -> e.reason() == Reason.ADDRESS);
      }
    }
    asked.clear();
    try (var resolver =
        new Resolver(
            Map.of(), ADDRESSES, answering(List.of(List.of("93.184.216.34", "2606:2800::1"))))) {
      assertThat(resolver.resolve(TARGET)).hasSize(2);
    }
  }

  @Test
  void aNameIsAskedForOnceAndTheCheckedAddressIsWhatComesBack() throws Exception {
    var flipping = List.of(List.of("93.184.216.34"), List.of("127.0.0.1"));
    try (var resolver = new Resolver(Map.of(), ADDRESSES, answering(flipping))) {
      assertThat(resolver.resolve(TARGET)).containsExactly(InetAddress.ofLiteral("93.184.216.34"));
      assertThat(asked).hasSize(1);
      assertThatExceptionOfType(RefusedException.class)
          .isThrownBy(() -> resolver.resolve(TARGET))
          .matches(e -> e.reason() == Reason.ADDRESS);
    }
  }

  @Test
  void theHostsOwnSearchDomainsAreNotTried() throws Exception {
    try (var resolver =
        new Resolver(Map.of(), ADDRESSES, answering(List.of(List.of("93.184.216.34"))))) {
      resolver.resolve(TARGET);
      assertThat(asked).containsExactly("name.example.");
    }
  }

  @Test
  void literalsAreNotLookedUpAndUnknownNamesSaySo() throws Exception {
    try (var resolver = new Resolver(Map.of(), ADDRESSES, answering(List.of()))) {
      assertThat(resolver.resolve(Target.parse("93.184.216.34:80", 0))).hasSize(1);
      assertThat(asked).isEmpty();
      assertThatExceptionOfType(RefusedException.class)
          .isThrownBy(() -> resolver.resolve(TARGET))
          .matches(e -> e.reason() == Reason.UNRESOLVED);
    }
  }

  private Resolver.Lookup answering(List<List<String>> answers) {
    return name -> {
      asked.add(name);
      if (asked.size() > answers.size()) {
        throw new UnknownHostException(name);
      }
      return answers.get(asked.size() - 1).stream()
          .map(InetAddress::ofLiteral)
          .toArray(InetAddress[]::new);
    };
  }
}
