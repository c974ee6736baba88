package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.dist.Distribution.Ended;
import dev.carrel.dist.Distribution.Running;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code carrel serve} and its end, as a process. */
@Timeout(300)
class ServeIT {
  @TempDir private Path folder;
  private Distribution distribution;

  @BeforeEach
  void distribution() {
    distribution = new Distribution(folder);
  }

  @AfterEach
  void endAll() {
    distribution.endAll();
  }

  @Test
  void announcesItselfAnswersWithTheTokenAloneAndStopsCleanly() throws Exception {
    Running server = distribution.start(List.of(Distribution.program(), "serve"));
    server.awaitOutput("Ctrl-C stops the server");
    Path token = distribution.data().resolve("token");

    assertThat(Files.readString(server.out()))
        .contains("listens on http://127.0.0.1:", token.toString(), "/docs", "curl -H");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(token)))
        .isEqualTo("rw-------");
    URI engines = URI.create(distribution.address() + "/api/v1/engines");
    assertThat(status(engines, "")).isEqualTo(401);
    assertThat(status(engines, Files.readString(token).strip())).isEqualTo(200);

    String secret = Files.readString(token).strip();
    server.signal("INT");
    Ended ended = server.await();
    assertThat(ended.code()).isZero();
    assertThat(ended.err()).contains("stopped");
    assertThat(distribution.data().resolve("endpoint")).doesNotExist();
    assertThat(
            ended.out() + ended.err() + Files.readString(distribution.data().resolve("carrel.log")))
        .doesNotContain(secret);
  }

  @Test
  void aServerWhoseOutputNobodyReadsServes() throws Exception {
    String serve = "exec %s serve >/dev/full".formatted(Distribution.program());
    Running server = distribution.start(List.of("sh", "-c", serve));
    server.awaitError("standard output could not be written");

    assertThat(distribution.carrel("sandbox", "list").code()).isZero();
    server.signal("TERM");
    assertThat(server.await().err()).contains("stopped");
  }

  @Test
  void aSecondServerOfTheSameFolderIsRefusedAndToldWhere() throws Exception {
    Running server = distribution.start(List.of(Distribution.program(), "serve"));
    server.awaitOutput("Ctrl-C stops the server");

    Ended second = distribution.carrel("serve");

    assertThat(second.code()).isEqualTo(125);
    assertThat(second.err()).contains("already running", distribution.address());
    server.signal("TERM");
    assertThat(server.await().code()).isZero();
  }

  @Test
  void sandboxesOutliveTheServerAndTheStopSaysSo() throws Exception {
    Running server = distribution.start(List.of(Distribution.program(), "serve"));
    server.awaitOutput("Ctrl-C stops the server");
    String id = distribution.carrel("sandbox", "create", "-q").out().strip();
    server.signal("TERM");

    assertThat(server.await().err()).contains("1 sandbox goes on");
    assertThat(distribution.carrel("exec", id, "--", "echo", "alive").out()).isEqualTo("alive\n");
    assertThat(distribution.carrel("sandbox", "delete", id).code()).isZero();
  }

  @Test
  void aServerThatStopsItsSandboxesSaysSo() throws Exception {
    Running server =
        distribution.start(
            List.of(Distribution.program(), "serve", "--set", "sandbox.on-shutdown=stop"));
    server.awaitOutput("Ctrl-C stops the server and its sandboxes");
    String id = distribution.carrel("sandbox", "create", "-q").out().strip();
    server.signal("TERM");

    assertThat(server.await().err())
        .contains("stopped, and 1 sandbox with it", "carrel sandbox start")
        .doesNotContain("on, the next start finds");
    assertThat(distribution.carrel("sandbox", "show", id).out()).contains("stopped");
    assertThat(distribution.carrel("sandbox", "delete", id).code()).isZero();
  }

  @Test
  void aServerWithACertificateOfAnotherNameStopsCleanlyAndSaysHowItIsReached() throws Exception {
    SelfSigned own = SelfSigned.in(folder);
    Running server =
        distribution.start(
            List.of(
                Distribution.program(),
                "serve",
                "--set",
                "server.tls-certificate=" + own.certificate(),
                "--set",
                "server.tls-key=" + own.key()));
    server.awaitOutput("Ctrl-C stops the server");

    Ended beside = distribution.carrel("sandbox", "list");
    assertThat(beside.code()).isEqualTo(125);
    assertThat(beside.err()).contains("hint: its certificate is for another name", "CARREL_URL");
    server.signal("TERM");
    Ended ended = server.await();
    assertThat(ended.err()).contains("stopped").doesNotContain("no answer");
    assertThat(ended.code()).isZero();
    assertThat(ended.out())
        .contains("CARREL_URL=https://NAME:", "curl -H", "-X POST https://NAME:");
  }

  @Test
  void addressesBeyondThisMachineNeedADecision() throws Exception {
    Ended refused = distribution.carrel("serve", "--host", "0.0.0.0");

    assertThat(refused.code()).isEqualTo(125);
    assertThat(refused.err())
        .contains("0.0.0.0", "server.tls-certificate", "server.allow-plaintext=true");
  }

  @Test
  void aPortInUseIsSaidInOneLineWithWhatToDo() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = String.valueOf(taken.getLocalPort());

      Ended refused = distribution.carrel("serve", "--port", port);

      assertThat(refused.code()).isEqualTo(125);
      assertThat(refused.err()).contains(port, "--port").doesNotContain("\tat ");
    }
  }

  @Test
  void aWrongSettingStopsTheStartWithItsName() throws Exception {
    Ended unknown = distribution.carrel("serve", "--set", "server.prot=1");
    Ended wrong = distribution.carrel("serve", "--set", "server.port=many");

    assertThat(unknown.code()).isEqualTo(125);
    assertThat(unknown.err()).contains("server.prot", "did you mean 'server.port'?");
    assertThat(wrong.err()).contains("server.port", "many");
  }

  @Test
  void interruptingARunEndsTheProgramAndLeavesNothing() throws Exception {
    Running run =
        distribution.start(
            List.of(
                Distribution.program(),
                "run",
                "-l",
                "bash",
                "-c",
                "trap 'exit 9' INT; echo set; sleep 60 & wait"));
    run.awaitOutput("set");

    run.signal("INT");

    assertThat(run.await().code()).isEqualTo(9);
  }

  @Test
  void interruptingCodeLeavesThatOfOthersAloneAndTheSecondTimeLeaves() throws Exception {
    Running server = distribution.start(List.of(Distribution.program(), "serve"));
    server.awaitOutput("Ctrl-C stops the server");
    String id = distribution.carrel("sandbox", "create", "-q").out().strip();
    Running other = code(id, "python", "print('begun', flush=True); import time; time.sleep(90)");
    Running own = code(id, "bash", "echo begun; sleep 90");

    own.signal("INT");
    assertThat(own.await().code()).isEqualTo(130);

    Running deaf = code(id, "bash", "trap '' INT; echo begun; while :; do sleep 1; done");
    deaf.signal("INT");
    while (!deaf.process().waitFor(1, TimeUnit.SECONDS)) {
      deaf.signal("INT");
    }
    assertThat(deaf.await().code()).isEqualTo(130);
    assertThat(other.process().isAlive()).isTrue();

    assertThat(distribution.carrel("sandbox", "delete", id).code()).isZero();
    other.await();
    server.signal("TERM");
    assertThat(server.await().code()).isZero();
  }

  @Test
  void whoStopsWaitingIsToldOfNoFailure() throws Exception {
    Running server = distribution.start(List.of(Distribution.program(), "serve"));
    server.awaitOutput("Ctrl-C stops the server");
    String id = distribution.carrel("sandbox", "create", "-q").out().strip();
    Running ask =
        distribution.start(
            List.of(Distribution.program(), "approvals", "ask", id, "a.example", "--wait"));
    ask.awaitError("carrel approvals approve");

    ask.signal("INT");

    Ended ended = ask.await();
    assertThat(ended.code()).isEqualTo(130);
    assertThat(ended.err().lines()).hasSize(1);
    assertThat(distribution.carrel("sandbox", "delete", id).code()).isZero();
    server.signal("TERM");
    assertThat(server.await().code()).isZero();
  }

  private Running code(String id, String language, String text) throws Exception {
    Running code =
        distribution.start(List.of(Distribution.program(), "code", id, "-l", language, "-c", text));
    code.awaitOutput("begun");
    return code;
  }

  @Test
  void outputThatCannotBeWrittenIsAFailure() throws Exception {
    Ended help =
        distribution.run(List.of("sh", "-c", Distribution.program() + " --help >/dev/full"));

    assertThat(help.code()).isEqualTo(125);
    assertThat(help.err()).contains("standard output could not be written");
  }

  private static int status(URI uri, String token) throws Exception {
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpRequest.Builder request = HttpRequest.newBuilder(uri);
      if (!token.isEmpty()) {
        request.header("Authorization", "Bearer " + token);
      }
      return client.send(request.build(), BodyHandlers.discarding()).statusCode();
    }
  }
}
