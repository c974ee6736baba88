package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class RoomTest {
  private final Room room = new Room(12);

  @Test
  void whoeverComesFindsSome() {
    assertThat(entered("a")).isEqualTo(6);
    assertThat(entered("b")).isEqualTo(3);
    assertThat(entered("c")).isEqualTo(2);
    assertThat(entered("d")).isEqualTo(1);
    room.leave("a");
    assertThat(room.enter("a")).as("who has more than are free").isFalse();
    assertThat(room.enter("e")).isTrue();
  }

  @Test
  void unknownsCountAsSoonAsTheyAreKnown() {
    for (int i = 0; i < 12; i++) {
      assertThat(room.enterUnknown()).isTrue();
    }
    assertThat(room.enterUnknown()).isFalse();
    assertThat(room.become("a")).isTrue();
    assertThat(room.become("a")).as("with nothing left for others").isFalse();
    room.leave("a");
    room.leave("a");
    IntStream.range(0, 10).forEach(_ -> room.leaveUnknown());
    assertThat(entered("a")).isEqualTo(6);
  }

  @Test
  void aProxyOfOneConnectionHasOne() {
    var small = new Room(1);
    assertThat(small.enter("a")).isTrue();
    assertThat(small.enter("b")).isFalse();
    small.leave("a");
    assertThat(small.enter("b")).isTrue();
  }

  private int entered(String owner) {
    return (int) IntStream.range(0, 100).filter(_ -> room.enter(owner)).count();
  }
}
