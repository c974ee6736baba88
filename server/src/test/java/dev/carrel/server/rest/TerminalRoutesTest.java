package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(SharedServer.class)
@Timeout(120)
class TerminalRoutesTest {
  private static final String ORIGIN = "Origin";

  private final LiveServer server;
  private final List<TerminalClient> clients = new ArrayList<>();
  private String sandbox = "";

  TerminalRoutesTest(LiveServer server) {
    this.server = server;
  }

  @BeforeEach
  void create() {
    sandbox = server.sandbox();
  }

  @AfterEach
  void delete() {
    clients.forEach(TerminalClient::close);
    server.delete(sandbox);
  }

  /** The path of a new one. */
  private String open() {
    return open("{}");
  }

  private String open(String body) {
    Answer opened = server.post(sandbox + "/terminals", body);
    assertThat(opened.status()).as(opened.text()).isEqualTo(201);
    return opened.header("Location");
  }

  private static String shell(String line) {
    return "{\"command\":[\"/bin/sh\",\"-c\",\"" + line + "\"]}";
  }

  private TerminalClient attach(String terminal, String query) {
    return keep(TerminalClient.attach(server, terminal + "/socket" + query));
  }

  private TerminalClient control(String terminal, String query) {
    return keep(TerminalClient.control(server, terminal + "/socket" + query));
  }

  private TerminalClient keep(TerminalClient client) {
    clients.add(client);
    return client;
  }

  private String link(String terminal, String body) {
    Answer link = server.post(terminal + "/link", body);
    assertThat(link.status()).as(link.text()).isEqualTo(201);
    assertThat(link.json().get("url").asText())
        .isEqualTo("ws://127.0.0.1:" + server.port() + link.json().get("path").asText());
    return link.json().get("path").asText();
  }

  private void waitForFile(String name) {
    Eventually.until(name, () -> server.get(sandbox + "/files/" + name).status() == 200);
  }

  @Test
  void keysComeAsTextAndAsBytesAndTheScreenComesAsBytes() {
    TerminalClient client = attach(open(), "");
    client.type("echo $((6*7))-text\n").sees("42-text");
    client.typeBytes("echo $((6*8))-bytes\n").sees("48-bytes");
    client.type("exit 3\n");
    assertThat(client.closed()).isEqualTo("1000 exited 3 returned");
    assertThat(client.texts()).isEmpty();
  }

  @Test
  void controlMessagesAreTextsAndNeverKeys() {
    String terminal = open("{\"size\":{\"rows\":30,\"cols\":90}}");
    TerminalClient client = control(terminal, "?from=0");
    JsonNode attached = client.told("attached");
    assertThat(attached.get("from").asLong()).isZero();
    assertThat(attached.get("write").asBoolean()).isTrue();
    client.typeBytes("stty size\n").sees("30 90");
    client.type("{\"type\":\"resize\",\"rows\":41,\"cols\":101}");
    client.typeBytes("stty size\n").sees("41 101");
    client.typeBytes("exit 7\n");
    JsonNode exited = client.told("exited");
    assertThat(exited.get("exit_code").asInt()).isEqualTo(7);
    assertThat(exited.get("cause").asText()).isEqualTo("returned");
    assertThat(client.closed()).isEqualTo("1000 exited 7 returned");
  }

  @Test
  void aSecondSocketCanBeTheControlChannelOfAPlainOne() {
    String terminal = open();
    TerminalClient screen = attach(terminal, "");
    TerminalClient control = control(terminal, "?screen=false");
    control.told("attached");
    control.type("{\"type\":\"resize\",\"rows\":33,\"cols\":99}");
    screen.type("until stty size | grep -q '^33 99'; do :; done; echo re''sized\n").sees("resized");
    screen.type("exit\n");
    assertThat(control.told("exited").get("exit_code").asInt()).isZero();
    assertThat(control.screenBytes()).isZero();
  }

  @Test
  void theShellOutlivesItsViewerAndIsJoinedWhereItWasLeft() {
    String terminal = open();
    TerminalClient first = control(terminal, "?from=0");
    first.typeBytes("kept=on-and-on; echo be''fore\n").sees("before");
    long seen = first.screenBytes();
    first.close();
    TerminalClient second = control(terminal, "?from=" + seen);
    assertThat(second.told("attached").get("from").asLong()).isEqualTo(seen);
    second.typeBytes("echo $kept\n").sees("on-and-on");
    assertThat(second.screen()).doesNotContain("before");
    TerminalClient third = attach(terminal, "?from=0");
    third.sees("before").sees("on-and-on");
  }

  @Test
  void scrollbackBeginsWithALine() {
    String terminal = open(shell("seq 1 9999; echo end; cat"));
    attach(terminal, "?from=0").sees("end\r\n");
    TerminalClient client = attach(terminal, "?scrollback=100");
    client.sees("end");
    assertThat(client.screen().lines().findFirst().orElseThrow()).matches("99\\d\\d");
    assertThat(client.screenBytes()).isBetween(80, 120);
  }

  @Test
  void oneThatHasEndedShowsItsLastWordsAndHowItEnded() {
    String terminal = open(shell("echo last words; exit 5"));
    TerminalClient client = attach(terminal, "");
    client.sees("last words");
    assertThat(client.closed()).isEqualTo("1000 exited 5 returned");
    TerminalClient later = attach(terminal, "");
    later.sees("last words");
    assertThat(later.closed()).isEqualTo("1000 exited 5 returned");
  }

  @Test
  void allSeeTheScreenAndReadersDoNotType() {
    String terminal = open();
    TerminalClient writer = attach(terminal, "");
    TerminalClient other = attach(terminal, "?mode=write");
    TerminalClient reader = attach(terminal, "?mode=read");
    reader.type("echo from-the-rea''der\n");
    writer.type("echo from-the-wri''ter\n");
    reader.sees("from-the-writer");
    other.sees("from-the-writer").type("echo from-the-oth''er\n");
    reader.sees("from-the-other");
    assertThat(reader.screen()).doesNotContain("from-the-reader");
  }

  @Test
  void whoTypesAloneTypesAlone() {
    String terminal = open();
    TerminalClient sole = attach(terminal, "?mode=sole");
    assertThat(status(terminal + "/socket")).isEqualTo(409);
    assertThat(status(terminal + "/socket?mode=sole")).isEqualTo(409);
    attach(terminal, "?mode=read");
    sole.close();
    Eventually.until("another may", () -> admitted(terminal, "?mode=write"));
  }

  private boolean admitted(String terminal, String query) {
    try (TerminalClient client = TerminalClient.attach(server, terminal + "/socket" + query)) {
      return !client.socket().isOutputClosed();
    } catch (CompletionException e) {
      return false;
    }
  }

  private int status(String path) {
    return TerminalClient.refused(
        server, path, builder -> builder.header("Authorization", "Bearer " + LiveServer.ADA));
  }

  @Test
  void noMoreThanSixteenLook() {
    String terminal = open();
    for (int i = 0; i < 16; i++) {
      attach(terminal, "?mode=read");
    }
    assertThat(status(terminal + "/socket?mode=read")).isEqualTo(429);
    clients.getFirst().close();
    Eventually.until("another may look", () -> admitted(terminal, "?mode=read"));
  }

  @Test
  void endingItTellsItsViewers() {
    String terminal = open();
    TerminalClient client = control(terminal, "");
    client.told("attached");
    assertThat(server.get(sandbox + "/terminals").json().get("execs")).hasSize(1);
    assertThat(server.delete(terminal).status()).isEqualTo(204);
    assertThat(client.closed()).isEqualTo("1000 exited 137 killed");
    assertThat(server.delete(terminal).status()).isEqualTo(204);
  }

  @Test
  void theEndOfTheSandboxTellsItsViewers() {
    TerminalClient client = attach(open(), "");
    assertThat(server.delete(sandbox).status()).isEqualTo(204);
    assertThat(client.closed()).matches("4004 .*|1000 exited 137 killed");
  }

  @Test
  void withoutATokenNobodyAttaches() {
    String socket = open() + "/socket";
    assertThat(TerminalClient.refused(server, socket, _ -> {})).isEqualTo(401);
    assertThat(
            TerminalClient.refused(
                server, socket, builder -> builder.header("Authorization", "Bearer wrong")))
        .isEqualTo(401);
    assertThat(
            TerminalClient.refused(
                server,
                socket,
                builder -> builder.subprotocols(TerminalClient.CONTROL, "carrel.token.wrong")))
        .isEqualTo(401);
  }

  @Test
  void theTokenMayComeAsASubprotocol() {
    TerminalClient client =
        keep(
            TerminalClient.attach(
                server,
                open() + "/socket",
                builder ->
                    builder.subprotocols(
                        TerminalClient.CONTROL, "carrel.token." + LiveServer.ADA)));
    assertThat(client.socket().getSubprotocol()).isEqualTo(TerminalClient.CONTROL);
    client.told("attached");
  }

  @Test
  void terminalsOfAnotherTenantDoNotExist() {
    String socket = open() + "/socket";
    assertThat(
            TerminalClient.refused(
                server,
                socket,
                builder -> builder.header("Authorization", "Bearer " + LiveServer.BOB)))
        .isEqualTo(404);
  }

  @ParameterizedTest
  @ValueSource(strings = {"https://evil.example", "null", "http://127.0.0.1:1"})
  void pagesOfOtherSitesMayNotAttachWhateverTheyHave(String origin) throws IOException {
    String terminal = open();
    String token = "Authorization: Bearer " + LiveServer.ADA + "\r\n";
    assertThat(handshake(terminal + "/socket", token + ORIGIN + ": " + origin + "\r\n"))
        .startsWith("HTTP/1.1 403");
    assertThat(handshake(link(terminal, "{}"), ORIGIN + ": " + origin + "\r\n"))
        .startsWith("HTTP/1.1 403");
    assertThat(
            handshake(
                terminal + "/socket",
                token + ORIGIN + ": http://127.0.0.1:" + server.port() + "\r\n"))
        .startsWith("HTTP/1.1 101");
  }

  /** The head of the answer to a handshake. */
  private String handshake(String path, String headers) throws IOException {
    try (Socket socket = connect(path, headers)) {
      return head(socket.getInputStream());
    }
  }

  private Socket connect(String path, String headers) throws IOException {
    var socket = new Socket();
    // One that does not read shall be noticed soon.
    socket.setReceiveBufferSize(64 * 1024);
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()));
    socket.setSoTimeout(60_000);
    String request =
        "GET "
            + path
            + " HTTP/1.1\r\nHost: 127.0.0.1:"
            + server.port()
            + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            + headers
            + "\r\n";
    socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  private static String head(InputStream in) throws IOException {
    var head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int one = in.read();
      if (one < 0) {
        break;
      }
      head.append((char) one);
    }
    return head.toString();
  }

  @Test
  void aLinkOpensOneTerminalForLookingOrTyping() {
    String terminal = open();
    TerminalClient writer =
        keep(TerminalClient.attach(server, link(terminal, "{\"write\":true}"), _ -> {}));
    String looking = link(terminal, "{}");
    TerminalClient reader = keep(TerminalClient.attach(server, looking, _ -> {}));
    reader.type("echo from-the-rea''der\n");
    writer.type("echo from-the-wri''ter\n");
    reader.sees("from-the-writer");
    assertThat(reader.screen()).doesNotContain("from-the-reader");
    assertThat(TerminalClient.refused(server, looking + "&mode=write", _ -> {})).isEqualTo(403);
    assertThat(TerminalClient.refused(server, looking.replace("link=read", "link=write"), _ -> {}))
        .isEqualTo(401);
    String other = open();
    String elsewhere = other + looking.substring(looking.indexOf("/socket"));
    assertThat(TerminalClient.refused(server, elsewhere, _ -> {})).isEqualTo(401);
    assertThat(
            TerminalClient.refused(server, looking.replaceFirst("read\\.\\d", "read.9"), _ -> {}))
        .isEqualTo(401);
  }

  @Test
  void whenALinkExpiresItsHolderHasToLeave() {
    TerminalClient client =
        keep(TerminalClient.attach(server, link(open(), "{\"expires_in_seconds\":3}"), _ -> {}));
    assertThat(client.closed()).isEqualTo("4001 the time of this link is over");
  }

  @Test
  void aMessageThatIsTooLongIsRefused() {
    TerminalClient client = attach(open(shell("sleep 300")), "");
    CompletableFuture<WebSocket> sending =
        client.socket().sendBinary(ByteBuffer.allocate(1024 * 1024 + 1), true);
    assertThat(client.closed()).startsWith("1009 ");
    assertThat(sending).isNotCancelled();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"{", "7", "{\"type\":\"dance\"}", "{\"type\":\"resize\",\"rows\":0,\"cols\":1}"})
  void aControlMessageThatIsNoneIsRefused(String message) {
    TerminalClient client = control(open(), "");
    client.told("attached");
    client.type(message);
    assertThat(client.closed()).startsWith("1008 ");
  }

  @Test
  void framesThatBreakTheRulesEndTheSocket() throws IOException {
    String terminal = open();
    String token = "Authorization: Bearer " + LiveServer.ADA + "\r\n";
    byte[][] frames = {
      {(byte) 0x81, 1, 'x'}, // without a mask
      {(byte) 0xC1, (byte) 0x81, 0, 0, 0, 0, 'x'}, // with an extension
      {(byte) 0x80, (byte) 0x81, 0, 0, 0, 0, 'x'}, // goes on with nothing
      {(byte) 0x83, (byte) 0x81, 0, 0, 0, 0, 'x'}, // of an unknown kind
      {9, (byte) 0x80, 0, 0, 0, 0}, // a ping in pieces
    };
    for (byte[] frame : frames) {
      try (Socket socket = connect(terminal + "/socket?mode=write", token)) {
        assertThat(head(socket.getInputStream())).startsWith("HTTP/1.1 101");
        socket.getOutputStream().write(frame);
        assertThat(closeCode(socket.getInputStream())).isEqualTo(1002);
      }
    }
    try (Socket socket = connect(terminal + "/socket", token)) {
      assertThat(head(socket.getInputStream())).startsWith("HTTP/1.1 101");
      socket.getOutputStream().write(new byte[] {(byte) 0x81, (byte) 0x81, 0, 0, 0, 0, -1});
      assertThat(closeCode(socket.getInputStream())).isEqualTo(1007);
    }
    try (Socket socket = connect(terminal + "/socket", token)) {
      assertThat(head(socket.getInputStream())).startsWith("HTTP/1.1 101");
      byte[] endless =
          ByteBuffer.allocate(10).put((byte) 0x82).put((byte) 0xFF).putLong(-1).array();
      socket.getOutputStream().write(endless);
      assertThat(closeCode(socket.getInputStream())).isEqualTo(1009);
    }
  }

  @Test
  void aMessageMayComeInPieces() {
    TerminalClient client = attach(open(), "");
    client.socket().sendText("echo in-", false).join();
    client.socket().sendText("pie''ces\n", true).join();
    client.sees("in-pieces");
  }

  @Test
  void aViewerThatDoesNotReadHoldsNobodyBackAndIsDropped() throws IOException {
    String terminal =
        open(shell("cat > go; head -c 16000000 /dev/zero | tr '\\\\0' x; touch flooded; cat"));
    String token = "Authorization: Bearer " + LiveServer.ADA + "\r\n";
    try (Socket lazy = connect(terminal + "/socket?from=0", token)) {
      assertThat(head(lazy.getInputStream())).startsWith("HTTP/1.1 101");
      TerminalClient typist = attach(terminal, "?mode=write&from=0");
      typist.type("go\n\u0004");
      // The lazy one has read nothing so far, and the program is through.
      waitForFile("flooded");
      assertThat(closeCode(lazy.getInputStream())).isIn(4008, CUT);
    }
    // Who comes back sees the end.
    TerminalClient again = attach(terminal, "");
    again.type("still''here\n").sees("still''here");
  }

  private static final int CUT = -1;

  /** The code of the first close frame; {@link #CUT} when there is none. */
  private static int closeCode(InputStream in) throws IOException {
    var data = new DataInputStream(in);
    try {
      while (true) {
        int opcode = data.readUnsignedByte() & 0x0F;
        int first = data.readUnsignedByte();
        long length =
            switch (first) {
              case 126 -> data.readUnsignedShort();
              case 127 -> data.readLong();
              default -> first;
            };
        byte[] payload = data.readNBytes((int) length);
        if (opcode == 8) {
          return ByteBuffer.wrap(payload).getShort() & 0xFFFF;
        }
      }
    } catch (EOFException | SocketException e) {
      return CUT;
    }
  }

  @Test
  void onlyTerminalsCanBeAttached() {
    Answer started =
        server.post(sandbox + "/exec", "{\"command\":\"sleep 300\",\"background\":true}");
    String exec = started.json().get("id").asText();
    assertThat(status(sandbox + "/terminals/" + exec + "/socket")).isEqualTo(409);
    String socket = open() + "/socket";
    assertThat(status(socket + "?from=99999999")).isEqualTo(422);
    assertThat(status(socket + "?screen=false")).isEqualTo(422);
    assertThat(server.get(socket).status()).isEqualTo(422);
  }
}
