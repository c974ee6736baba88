package dev.carrel.control.context;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class KernelFramesTest {
  private final KernelFrames frames = new KernelFrames((type, bytes) -> bytes <= 1000);

  @Test
  void eventsArePutTogetherFromAnyPieces() throws KernelFrames.Malformed {
    ByteBuffer all =
        join(
            frame(0x81, text("python"), text("3.11"), text("plain")),
            frame(0x82, integer(7), integer(1), text("text/plain"), text("42")),
            frame(0x84, integer(7), text("E"), text("m"), text("t")),
            frame(0x85, integer(7), new byte[] {1}));
    for (int piece : new int[] {1, 2, 3, 7, 1000}) {
      var events = new ArrayList<KernelEvent>();
      var reader = new KernelFrames((type, bytes) -> true);
      for (int at = 0; at < all.limit(); at += piece) {
        ByteBuffer part = all.slice(at, Math.min(piece, all.limit() - at));
        for (KernelEvent e = reader.next(part); e != null; e = reader.next(part)) {
          events.add(e);
        }
      }
      assertThat(events).hasSize(4);
      assertThat(events.get(0)).isEqualTo(new KernelEvent.Ready("python", "3.11", "plain"));
      assertThat(((KernelEvent.Result) events.get(1)).bundle().items().getFirst().text())
          .isEqualTo("42");
      assertThat(events.get(3)).isEqualTo(new KernelEvent.Done(7, KernelEvent.Status.ERROR));
    }
  }

  @Test
  void aBindingCarriesEachVariableAsItIs() {
    var variables = new LinkedHashMap<String, String>();
    variables.put("LINES", "one\ntwo");
    variables.put("É", "$(touch x)=日本");
    variables.put("EMPTY", "");

    assertThat(KernelFrames.bind(3, variables))
        .isEqualTo(
            ByteBuffer.wrap(
                frame(
                    0x05,
                    integer(3),
                    integer(3),
                    text("LINES"),
                    text("one\ntwo"),
                    text("É"),
                    text("$(touch x)=日本"),
                    text("EMPTY"),
                    text(""))));
    assertThat(KernelFrames.bind(1, Map.of()))
        .isEqualTo(ByteBuffer.wrap(frame(0x05, integer(1), integer(0))));
  }

  @Test
  void valuesWithoutRoomAreSkippedWithoutBeingKept() throws KernelFrames.Malformed {
    ByteBuffer bytes =
        join(
            frame(0x83, integer(1), integer(1), text("text/html"), text("x".repeat(5000))),
            frame(0x85, integer(1), new byte[] {0}));

    assertThat(frames.next(bytes)).isInstanceOf(KernelEvent.Skipped.class);
    assertThat(frames.next(bytes)).isEqualTo(new KernelEvent.Done(1, KernelEvent.Status.OK));
  }

  @Test
  void lengthsThatLieAreRefusedBeforeAnythingIsKept() {
    refused(header(0x85, -1));
    refused(header(0x85, Integer.MAX_VALUE));
    refused(header(0x82, (64 << 20) + 1));
    refused(header(0x85, 2 << 20));
    refused(frame(0x85, integer(1)));
    refused(frame(0x85, integer(1), new byte[] {9}));
    refused(frame(0x85, integer(1), new byte[] {0, 0}));
    refused(frame(0x82, integer(1), integer(-1)));
    refused(frame(0x82, integer(1), integer(1 << 30)));
    refused(frame(0x82, integer(1), integer(1), integer(-5)));
    refused(frame(0x84, integer(1), integer(Integer.MAX_VALUE)));
  }

  @Test
  void formsThatAValueMayOfferButNobodyTakesAreLeftOut() throws KernelFrames.Malformed {
    var parts = new ArrayList<byte[]>(List.of(integer(1), integer(102)));
    for (String mime : List.of("", "x".repeat(257))) {
      parts.addAll(List.of(text(mime), text("no")));
    }
    for (int i = 0; i < 100; i++) {
      parts.addAll(List.of(text("a/" + i), text("yes")));
    }
    ByteBuffer bytes = join(frame(0x83, parts.toArray(byte[][]::new)));

    KernelEvent event = new KernelFrames((type, size) -> true).next(bytes);

    assertThat(event)
        .isInstanceOfSatisfying(
            KernelEvent.Display.class,
            display ->
                assertThat(display.bundle().items())
                    .hasSize(64)
                    .allSatisfy(item -> assertThat(item.data()).asString().isEqualTo("yes")));
  }

  @Test
  void brokenTextIsRepairedAndUnknownFramesArePassedOver() throws KernelFrames.Malformed {
    ByteBuffer bytes =
        join(
            frame(0xF0, new byte[] {1, 2, 3}),
            frame(0x84, integer(1), blob(new byte[] {(byte) 0xC3}), text(""), text("")));

    assertThat(frames.next(bytes)).isEqualTo(new KernelEvent.Skipped(0xF0, 3));
    assertThat(frames.next(bytes))
        .isEqualTo(new KernelEvent.Failed(1, new CodeError("\uFFFD", "", "")));
  }

  @Test
  void noiseNeverDoesAnythingButBeRefused() {
    var random = new Random(42);
    for (int round = 0; round < 20_000; round++) {
      byte[] noise = new byte[random.nextInt(64)];
      random.nextBytes(noise);
      if (noise.length > 5) {
        noise[1] = 0;
        noise[2] = 0;
        noise[3] = 0;
        noise[4] = (byte) (0x81 + random.nextInt(7));
      }
      var reader = new KernelFrames((type, bytes) -> true);
      ByteBuffer bytes = ByteBuffer.wrap(noise);
      try {
        while (reader.next(bytes) != null) {
          assertThat(bytes.remaining()).isLessThan(noise.length);
        }
      } catch (KernelFrames.Malformed e) {
        assertThat(e).hasMessageStartingWith("the kernel sent");
      }
    }
  }

  @Test
  void resyncFindsTheAnswerInTheMiddleOfAnything() throws KernelFrames.Malformed {
    frames.resync(0x04040404);
    ByteBuffer bytes =
        join(
            new byte[] {4, 0, 0, 4, 0, 0, 0, (byte) 0x87, 4, 4},
            frame(0x87, integer(0x04040404)),
            frame(0x85, integer(0x04040404), new byte[] {0}));

    assertThat(frames.next(bytes)).isEqualTo(new KernelEvent.Pong(0x04040404));
    assertThat(frames.next(bytes)).isInstanceOf(KernelEvent.Done.class);
    assertThat(frames.next(bytes)).isNull();
  }

  private void refused(byte[] bytes) {
    var reader = new KernelFrames((type, size) -> true);
    assertThatExceptionOfType(KernelFrames.Malformed.class)
        .isThrownBy(() -> reader.next(ByteBuffer.wrap(bytes)));
  }

  private static byte[] frame(int type, byte[]... parts) {
    ByteBuffer payload = join(parts);
    return ByteBuffer.allocate(5 + payload.limit())
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(payload.limit())
        .put((byte) type)
        .put(payload)
        .array();
  }

  private static byte[] header(int type, int length) {
    return ByteBuffer.allocate(5)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(length)
        .put((byte) type)
        .array();
  }

  private static byte[] integer(int value) {
    return ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(value).array();
  }

  private static byte[] text(String text) {
    return blob(text.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] blob(byte[] bytes) {
    return join(integer(bytes.length), bytes).array();
  }

  private static ByteBuffer join(byte[]... parts) {
    int size = List.of(parts).stream().mapToInt(part -> part.length).sum();
    ByteBuffer all = ByteBuffer.allocate(size);
    for (byte[] part : parts) {
      all.put(part);
    }
    return all.flip();
  }
}
