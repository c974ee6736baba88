package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TransportTest {
  @Test
  void aPortOfHttp2IsNamedWithoutItsBytes() throws IOException {
    // SETTINGS and GOAWAY, as a port of gRPC answers to what it does not understand.
    String frames = "000000040000000000" + "0000080700000000000000000000000001";

    assertStrange(HexFormat.of().parseHex(frames));
  }

  @Test
  void aPortOfSomethingElseIsNamed() throws IOException {
    assertStrange("SSH-2.0-OpenSSH_9.6\r\n".getBytes(StandardCharsets.US_ASCII));
  }

  @Test
  void aPageInPlaceOfJsonIsNamedWithItsBeginning() throws IOException {
    String page = "<html>\n" + "welcome ".repeat(100) + "</html>";

    CarrelException strange = answered("text/html", page.length(), page);

    assertThat(strange.code()).isEqualTo(ErrorCode.UNKNOWN);
    assertThat(strange.status()).isEqualTo(200);
    assertThat(strange.message())
        .contains("answers with status 200 and text/html that is not of a Carrel server")
        .contains("\"<html>\\nwelcome ")
        .hasSizeLessThan(400);
    assertThat(strange.hint().orElse("")).contains("the server's own address");
  }

  @Test
  void jsonOfSomethingElseIsNamed() throws IOException {
    CarrelException strange = answered("application/json", 5, "[1,2]");

    assertThat(strange.code()).isEqualTo(ErrorCode.UNKNOWN);
    assertThat(strange.message()).endsWith("that is not of a Carrel server: \"[1,2]\"");
  }

  @Test
  void anAnswerThatBreaksOffIsNoAnswer() throws IOException {
    CarrelException broken = answered("application/json", 100, "{\"items\":");

    assertThat(broken.code()).isEqualTo(ErrorCode.UNREACHABLE);
    assertThat(broken.message()).contains("broke off");
  }

  /** As of a proxy that wants https: nothing of what was asked for has been done. */
  @Test
  void aRedirectIsNamedWithWhereItLeads() throws IOException {
    String answer =
        "HTTP/1.1 301 Moved\r\nLocation: https://carrel.example/\r\nContent-Length: 0\r\n\r\n";
    try (var listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        var carrel = Carrel.connect(address(listener), "token")) {
      Thread.ofVirtual()
          .start(() -> answerAll(listener, answer.getBytes(StandardCharsets.US_ASCII)));

      CarrelException refused =
          catchThrowableOfType(CarrelException.class, () -> carrel.keys().delete("k1"));

      assertThat(refused).as("it was not deleted").isNotNull();
      assertThat(refused.code()).isEqualTo(ErrorCode.UNKNOWN);
      assertThat(refused.status()).isEqualTo(301);
      assertThat(refused.message()).endsWith("answers with a redirect to https://carrel.example/");
      assertThat(refused.hint().orElse("")).contains("the server's own address");
    }
  }

  private static CarrelException answered(String type, int length, String body) throws IOException {
    String answer =
        "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
            .formatted(type, length, body);
    try (var listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        var carrel = Carrel.connect(address(listener), "token")) {
      Thread.ofVirtual()
          .start(() -> answerAll(listener, answer.getBytes(StandardCharsets.US_ASCII)));

      return catchThrowableOfType(CarrelException.class, () -> carrel.skills().list());
    }
  }

  private static void assertStrange(byte[] answer) throws IOException {
    try (var listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        var carrel = Carrel.connect(address(listener), "token")) {
      Thread.ofVirtual().start(() -> answerAll(listener, answer));

      assertThatThrownBy(() -> carrel.skills().list())
          .isInstanceOfSatisfying(
              CarrelException.class,
              e -> {
                assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN);
                assertThat(e.message()).isEqualTo(address(listener) + " does not speak HTTP/1.1");
                assertThat(e.hint().orElse("")).contains("CARREL_URL", "gRPC");
              });
    }
  }

  private static URI address(ServerSocket listener) {
    return URI.create("http://127.0.0.1:" + listener.getLocalPort());
  }

  private static void answerAll(ServerSocket listener, byte[] answer) {
    try {
      while (true) {
        try (Socket client = listener.accept()) {
          readHead(client);
          client.getOutputStream().write(answer);
        }
      }
    } catch (IOException closed) {
      // The test is over.
    }
  }

  // Who closes before everything was read resets the connection.
  private static void readHead(Socket client) throws IOException {
    var lines =
        new BufferedReader(
            new InputStreamReader(client.getInputStream(), StandardCharsets.US_ASCII));
    for (String line = lines.readLine(); line != null && !line.isEmpty(); ) {
      line = lines.readLine();
    }
  }
}
