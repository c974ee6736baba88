package dev.carrel.guest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class FramesTest {
  @Test
  void requestIsLittleEndianWithTagsAndLengths() {
    byte[] frame = bytes(new Request(Wire.TUNNEL).put(10, 8080));

    assertThat(HexFormat.of().formatHex(frame))
        .isEqualTo("0d000000" + "20" + "0a" + "08000000" + "901f000000000000");
  }

  @Test
  void requestGrowsAndCountsItsBytes() {
    var request = new Request(Wire.EXEC);
    for (int i = 0; i < 1000; i++) {
      request.put(11, "command", "argument " + i);
    }
    byte[] frame = bytes(request);

    assertThat(frame).startsWith(Frames.header(frame.length - Wire.HEADER, Wire.EXEC));
  }

  @Test
  void requestBeyondTheLimitIsRefusedBeforeItIsSent() {
    Command command = Command.of("echo", "x".repeat(Wire.MAX_PAYLOAD));

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> ExecFrames.exec(ExecId.random(), ExecRequest.of(command, Map.of())))
        .extracting(SandboxException::code)
        .isEqualTo(ErrorCode.TOO_LARGE);
  }

  @Test
  void commandsEnvironmentWinsOverTheSandboxes() throws Exception {
    Command command = Command.of("x").withEnvironment(Map.of("A", "command"));
    Request request =
        ExecFrames.exec(ExecId.random(), ExecRequest.of(command, Map.of("A", "sandbox", "B", "b")));

    assertThat(new String(bytes(request), UTF_8))
        .contains("A=command")
        .contains("B=b")
        .doesNotContain("A=sandbox");
  }

  @Test
  void timeoutBelowAMillisecondIsNotNone() throws Exception {
    Command command = Command.of("x").withTimeout(Duration.ofNanos(5));
    Request request = ExecFrames.exec(ExecId.random(), ExecRequest.of(command, Map.of()));

    assertThat(payload(request).integer(19)).hasValue(1);
  }

  @Test
  void textThatHasNoUtf8IsRefusedByName() {
    assertInvalid("path", () -> new Request(Wire.STAT).path(10, "path", "a\ud800b"));
    assertInvalid("path", () -> new Request(Wire.STAT).path(10, "path", "a\0b"));
    assertInvalid("path", () -> new Request(Wire.STAT).path(10, "path", ""));
    assertInvalid("to", () -> new Request(Wire.MOVE).path(11, "to", "\u00fc".repeat(131_073)));
    assertThat(bytes(new Request(Wire.STAT).path(10, "path", "\ud83d\ude00")))
        .endsWith("\ud83d\ude00".getBytes(UTF_8));
  }

  @Test
  void fieldsAreFoundByTagAndUnknownOnesIgnored() throws Exception {
    Fields fields = decode(Frames.begin().fields(Wire.OK, 200, "?", 12, 7L, 10, "text", 12, 8L));

    assertThat(fields.integer(12)).hasValue(7);
    assertThat(fields.text(10, 10)).isEqualTo("text");
    assertThat(fields.integer(13)).isEmpty();
    assertThat(fields.natural(13)).isZero();
  }

  @Test
  void fieldsThatDoNotFitAreMalformed() {
    assertMalformed(new byte[] {10, 0, 0, 0});
    assertMalformed(new byte[] {10, 1, 0, 0, 0});
    assertMalformed(new byte[] {10, -1, -1, -1, -1, 0});
    assertMalformed(new byte[] {10, -1, -1, -1, 127, 0});
  }

  @Test
  void integersOfAnotherSizeOrRangeAreMalformed() throws Exception {
    Fields fields = decode(Frames.begin().fields(Wire.OK, 1, new byte[4], 2, -1L, 3, 2L));

    assertThatExceptionOfType(Malformed.class).isThrownBy(() -> fields.integer(1));
    assertThatExceptionOfType(Malformed.class).isThrownBy(() -> fields.natural(2));
    assertThatExceptionOfType(Malformed.class).isThrownBy(() -> fields.flag(3));
  }

  @Test
  void pathThatIsNotUtf8IsShownButNotExact() throws Exception {
    byte[] latin = {'a', (byte) 0xfc};
    Fields fields = decode(Frames.begin().fields(Wire.ENTRY, 50, latin, 51, "a\ufffd"));

    assertThat(fields.path(50)).isEqualTo(new Fields.Name("a\ufffd", false));
    assertThat(fields.path(51)).isEqualTo(new Fields.Name("a\ufffd", true));
  }

  private static byte[] bytes(Request request) {
    var buffer = request.frame();
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  private static Fields payload(Request request) throws Malformed {
    byte[] frame = bytes(request);
    return new Fields(Arrays.copyOfRange(frame, Wire.HEADER, frame.length));
  }

  private static Fields decode(Frames frames) throws Exception {
    var connection =
        new Connection(new ScriptedChannel(frames.bytes(), null), Duration.ofSeconds(5));
    try (connection) {
      assertThat(connection.next()).isPositive();
      return connection.fields();
    }
  }

  private static void assertMalformed(byte[] payload) {
    assertThatExceptionOfType(Malformed.class).isThrownBy(() -> new Fields(payload));
  }

  private static void assertInvalid(String field, Runnable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call::run)
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_INPUT))
        .satisfies(e -> assertThat(e.field()).contains(field));
  }
}
