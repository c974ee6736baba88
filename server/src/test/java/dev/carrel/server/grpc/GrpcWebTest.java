package dev.carrel.server.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Message;
import dev.carrel.control.exec.Exec;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.protocols.sandbox.CreateSessionRequest;
import dev.carrel.protocols.sandbox.CreateSessionResponse;
import dev.carrel.protocols.sandbox.ExecRequest;
import dev.carrel.protocols.sandbox.ExecResponse;
import dev.carrel.protocols.sandbox.ExecStreamRequest;
import dev.carrel.protocols.sandbox.ExecStreamResponse;
import dev.carrel.protocols.sandbox.GetSessionRequest;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.spi.SandboxId;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class GrpcWebTest {
  private static final String BINARY = "application/grpc-web+proto";
  private static final String TEXT = "application/grpc-web-text";
  private static final int TRAILERS = 0x80;

  private final LiveServer server;
  private String session = "";
  private SandboxId sandbox = SandboxId.random();

  GrpcWebTest(LiveServer server) {
    this.server = server;
  }

  @BeforeEach
  void create() throws IOException {
    Frames answer =
        Frames.of(ask(request("CreateSession", BINARY, CreateSessionRequest.getDefaultInstance())));
    var made = CreateSessionResponse.parseFrom(answer.message()).getSession();
    assertThat(answer.trailers()).isEqualTo("grpc-status: 0\r\n");
    session = made.getSessionId();
    sandbox = new SandboxId(made.getContainerId());
  }

  @AfterEach
  void destroy() {
    server.delete("/api/v1/sandboxes/" + sandbox);
  }

  @Test
  void binaryAndTextSayTheSame() throws IOException {
    ExecRequest question =
        ExecRequest.newBuilder().setSessionId(session).setCommand("echo grün; exit 4").build();
    for (String type : List.of(BINARY, TEXT, "application/grpc-web", TEXT + "+proto")) {
      HttpResponse<InputStream> response = ask(request("Exec", type, question));
      assertThat(response.statusCode()).isEqualTo(200);
      assertThat(response.headers().firstValue("content-type").orElseThrow())
          .isEqualTo(type.startsWith(TEXT) ? TEXT + "+proto" : BINARY);
      Frames answer = Frames.of(response);
      ExecResponse said = ExecResponse.parseFrom(answer.message());
      assertThat(said.getStdout()).isEqualTo("grün\n");
      assertThat(said.getExitCode()).isEqualTo(4);
      assertThat(answer.trailers()).isEqualTo("grpc-status: 0\r\n");
    }
  }

  @Test
  void outputComesWhileTheCommandRuns() throws IOException {
    Frames answer = Frames.of(ask(request("ExecStream", BINARY, stream("echo up; cat gate"))));
    assertThat(ExecStreamResponse.parseFrom(answer.message()).getData()).isEqualTo("up\n");
    Frames.of(
        ask(
            request(
                "Exec",
                BINARY,
                ExecRequest.newBuilder().setSessionId(session).setCommand("echo > gate").build())));
    assertThat(ExecStreamResponse.parseFrom(answer.message()).getData()).isEqualTo("\n");
    assertThat(ExecStreamResponse.parseFrom(answer.message()).getExitCode()).isZero();
    assertThat(answer.trailers()).isEqualTo("grpc-status: 0\r\n");
  }

  @Test
  void failuresAreTrailers() throws IOException {
    Frames none =
        Frames.of(
            ask(
                request(
                    "GetSession",
                    BINARY,
                    GetSessionRequest.newBuilder().setSessionId("nobody").build())));
    assertThat(none.trailers().split("\r\n"))
        .containsExactly(
            "grpc-status: 5", "grpc-message: Session not found", "carrel-code: sandbox_not_found");
    byte[] nonsense = {0, 0, 0, 0, 9, 1};
    assertThat(Frames.of(ask(raw("Exec", BINARY, nonsense).build())).trailers())
        .startsWith("grpc-status: 3\r\n");
    byte[] huge = frame(new byte[(4 << 20) + 1]);
    assertThat(Frames.of(ask(raw("Exec", BINARY, huge).build())).trailers())
        .startsWith("grpc-status: 8\r\n");
    assertThat(Frames.of(ask(raw("Exec", TEXT, new byte[] {'!', '!'}).build())).trailers())
        .contains("base64");
    assertThat(ask(raw("Exec", "application/json", nonsense).build()).statusCode()).isEqualTo(400);
  }

  @Test
  void aDeadlineKillsTheCommand() throws IOException {
    HttpRequest hurried =
        raw("ExecStream", BINARY, frame(stream("sleep 1000").toByteArray()))
            .header("grpc-timeout", "1500m")
            .build();
    assertThat(Frames.of(ask(hurried)).trailers()).startsWith("grpc-status: 4\r\n");
    Eventually.until("the command is gone", () -> running().isEmpty());
  }

  @Test
  void whoHangsUpKillsTheCommand() throws IOException {
    HttpResponse<InputStream> response =
        ask(request("ExecStream", BINARY, stream("echo up; sleep 1000")));
    assertThat(ExecStreamResponse.parseFrom(Frames.of(response).message()).getData())
        .isEqualTo("up\n");
    assertThat(running()).isNotEmpty();
    response.body().close();
    Eventually.until("the command is gone", () -> running().isEmpty());
  }

  @Test
  void tokensAndTenantsAreThoseOfRest() throws IOException {
    ExecRequest question = ExecRequest.newBuilder().setSessionId(session).setCommand("id").build();
    HttpRequest nobody =
        HttpRequest.newBuilder(server.uri("/" + SessionClient.SERVICE + "Exec"))
            .header("Content-Type", BINARY)
            .POST(BodyPublishers.ofByteArray(frame(question.toByteArray())))
            .build();
    assertThat(ask(nobody).statusCode()).isEqualTo(401);
    HttpRequest page =
        HttpRequest.newBuilder(nobody, (_, _) -> true)
            .header("Authorization", "Bearer " + LiveServer.ADA)
            .header("Origin", "https://evil.example")
            .build();
    assertThat(ask(page).statusCode()).isEqualTo(403);
    HttpRequest bob =
        HttpRequest.newBuilder(nobody, (_, _) -> true)
            .header("Authorization", "Bearer " + LiveServer.BOB)
            .build();
    assertThat(ExecResponse.parseFrom(Frames.of(ask(bob)).message()).getStderr())
        .isEqualTo("Session not found");
  }

  private List<Exec> running() {
    return server.control().execs().list(Caller.user("acme", "ada"), sandbox).stream()
        .filter(Exec::running)
        .toList();
  }

  private ExecStreamRequest stream(String command) {
    return ExecStreamRequest.newBuilder()
        .setSessionId(session)
        .setCommand("mkfifo gate; " + command)
        .build();
  }

  private HttpResponse<InputStream> ask(HttpRequest request) {
    return server.stream(request);
  }

  private HttpRequest request(String method, String type, Message question) {
    byte[] frame = frame(question.toByteArray());
    boolean text = type.startsWith(TEXT);
    return raw(method, type, text ? Base64.getEncoder().encode(frame) : frame).build();
  }

  private HttpRequest.Builder raw(String method, String type, byte[] body) {
    return server
        .request("POST", "/" + SessionClient.SERVICE + method, BodyPublishers.ofByteArray(body))
        .header("Content-Type", type);
  }

  private static byte[] frame(byte[] message) {
    return ByteBuffer.allocate(5 + message.length)
        .put((byte) 0)
        .putInt(message.length)
        .put(message)
        .array();
  }

  /** What a client reads, bit by bit. */
  private record Frames(DataInputStream in) {
    static Frames of(HttpResponse<InputStream> response) throws IOException {
      boolean text = response.headers().firstValue("content-type").orElse("").startsWith(TEXT);
      InputStream body = response.body();
      return new Frames(new DataInputStream(text ? decoded(body) : body));
    }

    // Each frame is padded for itself.
    private static InputStream decoded(InputStream body) throws IOException {
      var bytes = new ByteArrayOutputStream();
      byte[] group = new byte[4];
      while (body.readNBytes(group, 0, 4) == 4) {
        bytes.write(Base64.getDecoder().decode(group));
      }
      return new ByteArrayInputStream(bytes.toByteArray());
    }

    byte[] message() throws IOException {
      assertThat(in.readUnsignedByte()).isZero();
      return in.readNBytes(in.readInt());
    }

    String trailers() throws IOException {
      assertThat(in.readUnsignedByte()).isEqualTo(TRAILERS);
      String trailers = new String(in.readNBytes(in.readInt()), StandardCharsets.US_ASCII);
      assertThat(in.read()).isNegative();
      return trailers;
    }
  }
}
