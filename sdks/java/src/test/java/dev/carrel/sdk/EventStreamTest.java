package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class EventStreamTest {
  @Test
  void eventsHaveNameDataAndId() {
    EventStream stream = stream("event: stdout\nid: 7\ndata: {\"a\":1}\n\ndata:x\n\n");

    assertThat(stream.next()).contains(new EventStream.Event("stdout", "{\"a\":1}", 7));
    assertThat(stream.next()).contains(new EventStream.Event("message", "x", 0));
    assertThat(stream.next()).isEmpty();
  }

  @Test
  void commentsAndUnknownFieldsAreSkippedAndDataLinesJoined() {
    EventStream stream = stream(": keep-alive\n\nretry: 5\ndata: a\ndata: b\n\n");

    assertThat(stream.next()).contains(new EventStream.Event("message", "a\nb", 0));
  }

  @Test
  void anUnfinishedEventIsNone() {
    assertThat(stream("event: stdout\ndata: half").next()).isEmpty();
  }

  @Test
  void theFailureEventIsAnExceptionWithItsCode() {
    EventStream stream =
        stream(
            "event: failure\ndata: {\"code\":\"guest_lost\",\"detail\":\"gone\",\"status\":502}\n\n");

    assertThatThrownBy(stream::next)
        .isInstanceOfSatisfying(
            CarrelException.class,
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.GUEST_LOST);
              assertThat(e.status()).isEqualTo(502);
            });
  }

  @Test
  void codesOfNewerServersAreUnknown() {
    assertThat(ErrorCode.parse("brand_new")).isEqualTo(ErrorCode.UNKNOWN);
    assertThat(ErrorCode.parse("limit_reached")).isEqualTo(ErrorCode.LIMIT_REACHED);
  }

  private static EventStream stream(String text) {
    return new EventStream(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
  }
}
