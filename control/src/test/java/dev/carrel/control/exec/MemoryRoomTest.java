package dev.carrel.control.exec;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class MemoryRoomTest {
  private final MemoryRoom room = new MemoryRoom(100);

  @Test
  void aTenantHasHalfAndAllHaveNoMoreThanThereIs() {
    MemoryRoom.Share alice = room.share("alice");
    assertThat(alice.take(30)).isTrue();
    assertThat(room.share("alice").take(21)).isFalse();
    assertThat(room.share("alice").take(20)).isTrue();
    assertThat(room.share("bob").take(40)).isTrue();
    assertThat(room.share("carol").take(11)).isFalse();
    assertThat(room.share("carol").take(10)).isTrue();
    alice.close();
    assertThat(room.share("carol").take(30)).isTrue();
  }

  @Test
  void whatIsClosedGivesBackOnceAndTakesNothing() {
    MemoryRoom.Share share = room.share("alice");
    assertThat(share.take(50)).isTrue();
    share.close();
    share.close();
    assertThat(share.take(1)).isFalse();
    assertThat(room.share("alice").take(50)).isTrue();
    assertThat(room.share("alice").take(1)).isFalse();
  }
}
