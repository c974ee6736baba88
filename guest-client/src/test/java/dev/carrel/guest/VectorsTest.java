package dev.carrel.guest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The frames that the guest's own tests read too: {@code spec/vectors/guest-frames.txt}. */
final class VectorsTest {
  @ParameterizedTest
  @MethodSource("names")
  void isReadAsTheSpecSays(String name) throws Exception {
    byte[] bytes = vector(name);
    Connection connection =
        new Connection(new ScriptedChannel(bytes, new Random(3)), Duration.ofSeconds(5));
    try (connection) {
      switch (name.substring(0, name.indexOf('-'))) {
        case "fields" -> {
          int type = connection.next();
          assertThat(connection.fields().size()).isEqualTo(bytes.length - Wire.HEADER);
          assertThat(connection.next()).isEqualTo(Connection.END);
          assertThat(rewritten(type, bytes)).isEqualTo(bytes);
        }
        case "raw" -> assertThat(rereadRaw(connection)).isEqualTo(bytes);
        case "short" -> assertShort(connection);
        case "long" -> assertThatExceptionOfType(Malformed.class).isThrownBy(connection::next);
        case "bad" -> {
          assertThat(connection.next()).isNotNegative();
          assertThatExceptionOfType(Malformed.class).isThrownBy(connection::fields);
        }
        default -> throw new AssertionError("a vector of no known kind");
      }
    }
  }

  @Test
  void endsMeanWhatTheirCommentsSay() throws Exception {
    GuestEvent.Exited returned = exited("fields-exited");
    assertThat(returned.code()).isEqualTo(255);
    assertThat(returned.signal()).isNull();
    assertThat(returned.duration()).isEqualTo(Duration.ofNanos(1_234_000));
    assertThat(returned.cpu()).isEqualTo(Duration.ofNanos(900_000));
    assertThat(returned.maxRssBytes()).isEqualTo(4096);
    assertThat(returned.left()).isEqualTo(2);

    GuestEvent.Exited signalled = exited("fields-signalled");
    assertThat(signalled.signal()).isEqualTo(9);
    assertThat(signalled.timedOut()).isTrue();
    assertThat(signalled.changesTruncated()).isTrue();

    assertThat(exited("fields-not-started").message())
        .isEqualTo("cannot run the program: No such file or directory");
  }

  static List<String> names() throws IOException {
    return vectors().keySet().stream().sorted().toList();
  }

  private static byte[] vector(String name) throws IOException {
    return HexFormat.of().parseHex(vectors().getOrDefault(name, ""));
  }

  private static Map<String, String> vectors() throws IOException {
    var vectors = new HashMap<String, String>();
    Path file = Path.of(System.getProperty("carrel.root", ""), "spec/vectors/guest-frames.txt");
    for (String line : Files.readAllLines(file)) {
      if (!line.isBlank() && !line.startsWith("#")) {
        int space = line.indexOf(' ');
        vectors.put(
            space < 0 ? line : line.substring(0, space),
            space < 0 ? "" : line.substring(space + 1));
      }
    }
    return vectors;
  }

  private static byte[] rewritten(int type, byte[] frame) {
    ByteBuffer fields = ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN).position(Wire.HEADER);
    var request = new Request(type);
    while (fields.hasRemaining()) {
      int tag = fields.get() & 0xFF;
      byte[] value = new byte[fields.getInt()];
      fields.get(value);
      request.put(tag, value);
    }
    byte[] bytes = new byte[request.frame().remaining()];
    request.frame().get(bytes);
    return bytes;
  }

  private static byte[] rereadRaw(Connection connection) throws IOException {
    var all = new ByteArrayOutputStream();
    for (int type = connection.next(); type != Connection.END; type = connection.next()) {
      all.writeBytes(Frames.header(connection.remaining(), type));
      while (connection.remaining() > 0) {
        all.writeBytes(connection.raw());
      }
    }
    return all.toByteArray();
  }

  private static void assertShort(Connection connection) {
    assertThatExceptionOfType(EOFException.class)
        .isThrownBy(
            () -> {
              if (connection.next() == Connection.END) {
                throw new EOFException("clean");
              }
              connection.raw();
            });
  }

  private static GuestEvent.Exited exited(String name) throws IOException {
    byte[] frame = vector(name);
    var connection = new Connection(new ScriptedChannel(frame, null), Duration.ofSeconds(5));
    try (connection) {
      assertThat(connection.next()).isEqualTo(Wire.EXITED);
      return ExecFrames.exited(connection.fields(), List.of(), false);
    }
  }
}
