package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ArrivalsTest {
  @Test
  void eachComesOnceAndTheEndStaysTheEnd() {
    var source = new ArrayDeque<>(List.of("a", "b"));
    var arrivals = new Arrivals<String>(() -> Optional.ofNullable(source.poll()));

    assertThat(arrivals.hasNext()).isTrue();
    assertThat(arrivals.hasNext()).isTrue();
    assertThat(arrivals.next()).isEqualTo("a");
    assertThat(arrivals.next()).isEqualTo("b");
    assertThat(arrivals.hasNext()).isFalse();
    source.add("too late");
    assertThat(arrivals.hasNext()).isFalse();
    assertThatThrownBy(arrivals::next).isInstanceOf(NoSuchElementException.class);
  }
}
