package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Case N04: what a name server says is believed once, and only if all of it may be dialled. */
final class ResolverTest {
  private static final Addresses ADDRESSES = new Addresses(List.of(), List.of());
  private static final Target TARGET = Target.parse("name.example:443", 0);

  private static final Gate GATE = new Gate("sb", null, null, _ -> {});

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
            .isThrownBy(() -> resolver.resolve(GATE, TARGET))
            .matches(e -> e.reason() == Reason.ADDRESS);
      }
    }
    asked.clear();
    try (var resolver =
        new Resolver(
            Map.of(), ADDRESSES, answering(List.of(List.of("93.184.216.34", "2606:2800::1"))))) {
      assertThat(resolver.resolve(GATE, TARGET)).hasSize(2);
    }
  }

  @Test
  void aNameIsAskedForOnceAndTheCheckedAddressIsWhatComesBack() throws Exception {
    var flipping = List.of(List.of("93.184.216.34"), List.of("127.0.0.1"));
    try (var resolver = new Resolver(Map.of(), ADDRESSES, answering(flipping))) {
      assertThat(resolver.resolve(GATE, TARGET))
          .containsExactly(InetAddress.ofLiteral("93.184.216.34"));
      assertThat(asked).hasSize(1);
      assertThatExceptionOfType(RefusedException.class)
          .isThrownBy(() -> resolver.resolve(GATE, TARGET))
          .matches(e -> e.reason() == Reason.ADDRESS);
    }
  }

  @Test
  void whatTheOperatorOpenedIsOpenToTheServerOnlyWhereARuleNamesIt() throws Exception {
    var opened = new Addresses(List.of(), List.of(AddressRange.parse("10.1.0.0/16")));
    var pinned =
        Map.of(
            Host.parse("mirror.example"), List.of(InetAddress.ofLiteral("10.2.0.1")),
            Host.parse("fast.example"), List.of(InetAddress.ofLiteral("93.184.216.34")));
    var server = new Gate("server", _ -> {});
    Policy all = Policy.NOTHING.withMode(Policy.Mode.OBSERVE);
    server.policy(all);
    try (var resolver = new Resolver(pinned, opened, answering(List.of()))) {
      for (String inner : List.of("10.1.2.3:9200", "mirror.example:9200")) {
        Target target = Target.parse(inner, 0);
        assertThat(refusal(resolver, server, target)).isEqualTo(Reason.ADDRESS);
        server.policy(all.withAllow(List.of(Rule.parse(inner))));
        assertThat(resolver.resolve(server, target)).hasSize(1);
        server.policy(all.withAllow(List.of(Rule.parse(inner.replace("9200", "9201")))));
        assertThat(refusal(resolver, server, target)).isEqualTo(Reason.ADDRESS);
        server.policy(all);
      }
      assertThat(resolver.resolve(server, Target.parse("fast.example:80", 0))).hasSize(1);
    }
  }

  @Test
  void theHostsOwnSearchDomainsAreNotTried() throws Exception {
    try (var resolver =
        new Resolver(Map.of(), ADDRESSES, answering(List.of(List.of("93.184.216.34"))))) {
      resolver.resolve(GATE, TARGET);
      assertThat(asked).containsExactly("name.example.");
    }
  }

  @Test
  void literalsAreNotLookedUpAndUnknownNamesSaySo() throws Exception {
    try (var resolver = new Resolver(Map.of(), ADDRESSES, answering(List.of()))) {
      assertThat(resolver.resolve(GATE, Target.parse("93.184.216.34:80", 0))).hasSize(1);
      assertThat(asked).isEmpty();
      assertThatExceptionOfType(RefusedException.class)
          .isThrownBy(() -> resolver.resolve(GATE, TARGET))
          .matches(e -> e.reason() == Reason.UNRESOLVED);
    }
  }

  @Test
  @Timeout(60)
  void whoseNamesTakeForeverLeavesThreadsToOthers() throws Exception {
    var hang = new CountDownLatch(1);
    var hanging = new AtomicInteger();
    Resolver.Lookup lookup =
        name -> {
          if (name.startsWith("slow")) {
            hanging.incrementAndGet();
            awaitQuietly(hang);
          }
          return new InetAddress[] {InetAddress.ofLiteral("93.184.216.34")};
        };
    var greedy = new Gate("greedy", null, null, _ -> {});
    try (var resolver = new Resolver(Map.of(), ADDRESSES, lookup, Duration.ofSeconds(3))) {
      try (var askers = Executors.newVirtualThreadPerTaskExecutor()) {
        List<Future<Reason>> refusals =
            IntStream.range(0, 12)
                .mapToObj(i -> Target.parse("slow" + i + ".example:443", 0))
                .map(slow -> askers.submit(() -> refusal(resolver, greedy, slow)))
                .toList();
        for (Future<Reason> refusal : refusals) {
          assertThat(refusal.get()).isIn(Reason.TIMED_OUT, Reason.TOO_MANY);
        }
      }
      assertThat(hanging).hasValue(2);
      assertThat(resolver.resolve(GATE, TARGET)).hasSize(1);
      hang.countDown();
      assertThat(greedy.lookups().tryAcquire(2, 30, TimeUnit.SECONDS)).isTrue();
      greedy.lookups().release(2);
      assertThat(resolver.resolve(greedy, TARGET)).hasSize(1);
    }
  }

  private static Reason refusal(Resolver resolver, Gate gate, Target target) throws Exception {
    try {
      throw new AssertionError(resolver.resolve(gate, target));
    } catch (RefusedException e) {
      return e.reason();
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
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
