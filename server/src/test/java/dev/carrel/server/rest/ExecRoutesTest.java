package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.EventReader;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.LiveServer.Event;
import dev.carrel.server.SharedServer;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(60)
class ExecRoutesTest {
  private final LiveServer server;
  private String sandbox = "";

  ExecRoutesTest(LiveServer server) {
    this.server = server;
  }

  @BeforeEach
  void create() {
    sandbox = server.sandbox();
  }

  private JsonNode exec(String json) {
    Answer answer = server.post(sandbox + "/exec", json);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer.json();
  }

  @Test
  void aLineOfShellAnswersWithItsOutputAndChanges() {
    JsonNode result = exec("{\"command\":\"echo out; echo err >&2; echo x > made; exit 3\"}");
    assertThat(result.get("exit_code").asInt()).isEqualTo(3);
    assertThat(result.get("cause").asText()).isEqualTo("returned");
    assertThat(result.get("stdout").asText()).isEqualTo("out\n");
    assertThat(result.get("stderr").asText()).isEqualTo("err\n");
    assertThat(result.get("files_changed").get(0).get("path").asText()).isEqualTo("made");
    assertThat(result.get("files_changed").get(0).get("action").asText()).isEqualTo("created");
  }

  @Test
  void aLineIsRunByBashAndAnArrayByNobody() {
    assertThat(
            exec("{\"command\":\"[[ a == a ]] && echo ${BASH_VERSION%%.*}\"}")
                .get("stdout")
                .asText())
        .matches("\\d+\n");
    assertThat(exec("{\"command\":[\"printf\",\"%s|\",\"a b\",\"$HOME\"]}").get("stdout").asText())
        .isEqualTo("a b|$HOME|");
  }

  @Test
  void environmentDirectoryAndInputAreGiven() {
    JsonNode result =
        exec(
            "{\"command\":\"pwd; echo $GREETING; cat\",\"cwd\":\"/tmp\",\"env\":{\"GREETING\":\"héllo\"},\"stdin\":\"typed\"}");
    assertThat(result.get("stdout").asText()).isEqualTo("/tmp\nhéllo\ntyped");
  }

  @Test
  void inputThatIsNotReadDoesNotHang() {
    String input = "x".repeat(500_000);
    JsonNode result = exec("{\"command\":\"head -c 1\",\"stdin\":\"" + input + "\"}");
    assertThat(result.get("stdout").asText()).isEqualTo("x");
  }

  @Test
  void aTimeoutKillsTheTreeAndKeepsTheOutput() {
    JsonNode result = exec("{\"command\":\"echo before; sleep 60 | cat\",\"timeout_seconds\":1}");
    assertThat(result.get("timed_out").asBoolean()).isTrue();
    assertThat(result.get("cause").asText()).isEqualTo("timed_out");
    assertThat(result.get("stdout").asText()).isEqualTo("before\n");
  }

  @Test
  void aProgramThatIsNotThereIsAResult() {
    JsonNode result = exec("{\"command\":[\"no-such-program\"]}");
    assertThat(result.get("exit_code").asInt()).isEqualTo(127);
    assertThat(result.get("cause").asText()).isEqualTo("not_started");
    assertThat(result.get("message").asText()).isNotEmpty();
  }

  @Test
  void eventsComeInOrder() {
    List<Event> events =
        server.events(
            server.live(sandbox + "/exec", "{\"command\":\"echo a; echo b >&2; exit 7\"}"));
    assertThat(events.getFirst().name()).isEqualTo("started");
    server.description().conforms("ExecStarted", events.getFirst().data());
    assertThat(text(events, "stdout")).isEqualTo("a\n");
    assertThat(text(events, "stderr")).isEqualTo("b\n");
    assertThat(events.getLast().name()).isEqualTo("exited");
    server.description().conforms("ExecExited", events.getLast().data());
    assertThat(events.getLast().data().get("exit_code").asInt()).isEqualTo(7);
    assertThat(events.get(events.size() - 2).id()).isEqualTo("4");
  }

  @Test
  void bytesAreKeptInBase64AndRepairedInText() {
    String line = "{\"command\":\"printf '\\\\xff\\\\x00a'\"}";
    List<Event> exact = server.events(server.live(sandbox + "/exec?encoding=base64", line));
    byte[] bytes =
        Base64.getDecoder()
            .decode(
                exact.stream()
                    .filter(e -> e.name().equals("stdout"))
                    .findFirst()
                    .orElseThrow()
                    .data()
                    .get("base64")
                    .asText());
    assertThat(bytes).containsExactly(0xff, 0, 'a');
    assertThat(exec(line).get("stdout").asText()).isEqualTo("\ufffd\0a");
  }

  @Test
  void aBackgroundCommandCanBeFoundFollowedFedAndStopped() throws IOException {
    Answer started =
        server.post(
            sandbox + "/exec",
            "{\"command\":\"echo ready; while read line; do echo got $line; done; sleep 60\",\"background\":true,\"stdin_open\":true}");
    assertThat(started.status()).isEqualTo(202);
    String exec = started.header("Location");
    assertThat(exec).isEqualTo(sandbox + "/execs/" + started.json().get("id").asText());
    assertThat(server.get(exec).json().get("status").asText()).isEqualTo("running");
    assertThat(server.get(sandbox + "/execs").json().get("execs")).hasSize(1);

    HttpRequest follow =
        server
            .request("GET", exec + "/output?from=0", BodyPublishers.noBody())
            .header("Accept", "text/event-stream")
            .build();
    try (var events = new EventReader(server.stream(follow).body())) {
      assertThat(events.next("stdout").data().get("text").asText()).isEqualTo("ready\n");
      assertThat(server.post(exec + "/stdin", "{\"data\":\"one\\n\"}").status()).isEqualTo(204);
      assertThat(events.next("stdout").data().get("text").asText()).isEqualTo("got one\n");
      Answer raw =
          server.send(
              server
                  .request("POST", exec + "/stdin?eof=true", BodyPublishers.ofString("two\n"))
                  .header("Content-Type", "application/octet-stream")
                  .build());
      assertThat(raw.status()).isEqualTo(204);
      assertThat(events.next("stdout").data().get("text").asText()).isEqualTo("got two\n");
      assertThat(server.post(exec + "/signal", "{\"signal\":\"KILL\",\"scope\":\"tree\"}").status())
          .isEqualTo(204);
      Event exited = events.next("exited");
      assertThat(exited.data().get("signal").asInt()).isEqualTo(9);
    }
    assertThat(server.get(exec).json().get("status").asText()).isEqualTo("exited");
    assertThat(server.post(exec + "/stdin", "{\"data\":\"x\"}").status()).isEqualTo(409);
  }

  @Test
  void whatNobodyWouldReadIsRefused() {
    String started = "{\"command\":\"sleep 60\",\"background\":true}";
    String exec = server.post(sandbox + "/exec", started).header("Location");
    Answer refused = server.post(exec + "/stdin", "{\"data\":\"x\"}");
    assertThat(refused.status()).isEqualTo(409);
    assertThat(refused.text()).contains("without standard input");
    assertThat(server.post(exec + "/stdin", "{\"eof\":true}").status()).isEqualTo(204);
    assertThat(server.post(exec + "/signal", "{\"signal\":\"KILL\"}").status()).isEqualTo(204);
  }

  @Test
  void outputIsThereAfterwardsFromAnyOffset() {
    String id = exec("{\"command\":\"printf abc; sleep 0.05; printf DEF >&2\"}").get("id").asText();
    String output = sandbox + "/execs/" + id + "/output";
    Answer raw = server.get(output + "?from=1");
    assertThat(raw.header("Content-Type")).isEqualTo("application/octet-stream");
    assertThat(raw.text()).isEqualTo("bcDEF");
    assertThat(raw.header("X-Carrel-Output-Bytes")).isEqualTo("5");
    assertThat(server.get(output + "?from=99").bytes()).isEmpty();
    Answer page =
        server.send(
            server
                .request("GET", output + "?limit=4", BodyPublishers.noBody())
                .header("Accept", "application/json")
                .build());
    assertThat(page.json().get("next_offset").asInt()).isEqualTo(4);
    assertThat(page.json().get("running").asBoolean()).isFalse();
    assertThat(page.json().get("chunks").get(0).get("data").asText()).isEqualTo("abc");
    assertThat(page.json().get("chunks").get(1).get("channel").asText()).isEqualTo("stderr");
    List<Event> resumed =
        server.events(
            server
                .request("GET", output, BodyPublishers.noBody())
                .header("Accept", "text/event-stream")
                .header("Last-Event-ID", "3")
                .build());
    assertThat(text(resumed, "stderr")).isEqualTo("DEF");
    assertThat(text(resumed, "stdout")).isEmpty();
  }

  @Test
  void aCharacterComesWholeWhereverAStreamIsTakenUpAgain() {
    String line = "printf '\\\\342\\\\202'; sleep 0.1; printf x >&2; sleep 0.1; printf '\\\\254'";
    List<Event> all =
        server.events(server.live(sandbox + "/exec", "{\"command\":\"" + line + "\"}"));
    String id = all.getFirst().data().get("id").asText();
    assertThat(text(all, "stdout")).isEqualTo("€");
    assertThat(text(all, "stderr")).isEqualTo("x");
    for (int i = 1; i <= all.size(); i++) {
      List<Event> seen = all.subList(0, i);
      assertThat(text(seen, "stdout") + text(after(id, seen), "stdout")).isEqualTo("€");
    }
  }

  @Test
  void whatOneStreamNeverEndsMakesNothingOfTheOtherComeTwice() {
    String line =
        "printf '\\\\342' >&2; sleep 0.1; for i in 1 2 3 4; do printf '%01024d' $i; sleep 0.05; done";
    List<Event> all =
        server.events(server.live(sandbox + "/exec", "{\"command\":\"" + line + "\"}"));
    String id = all.getFirst().data().get("id").asText();
    String whole = text(all, "stdout");
    assertThat(whole).hasSize(4096);
    for (int i = 1; i < all.size(); i++) {
      assertThat(text(all.subList(0, i), "stdout") + text(after(id, all.subList(0, i)), "stdout"))
          .isEqualTo(whole);
    }
  }

  /** The rest for who saw these. */
  private List<Event> after(String exec, List<Event> seen) {
    String last =
        seen.stream()
            .map(Event::id)
            .filter(id -> !id.isEmpty())
            .reduce("0", (before, next) -> next);
    return server.events(
        server
            .request("GET", sandbox + "/execs/" + exec + "/output", BodyPublishers.noBody())
            .header("Accept", "text/event-stream")
            .header("Last-Event-ID", last)
            .build());
  }

  @Test
  void aPageNeverSplitsACharacter() {
    String id = exec("{\"command\":\"printf 'aé€'\"}").get("id").asText();
    String output = sandbox + "/execs/" + id + "/output?limit=2&from=";
    JsonNode first = page(output + "0");
    assertThat(first.get("chunks").get(0).get("data").asText()).isEqualTo("a");
    assertThat(first.get("next_offset").asInt()).isEqualTo(1);
    assertThat(page(output + "1").get("chunks").get(0).get("data").asText()).isEqualTo("é");
  }

  @Test
  void aTerminalHasASize() throws IOException {
    HttpRequest request =
        server.live(
            sandbox + "/exec",
            "{\"command\":\"trap 'stty size; exit' WINCH; stty size; while :; do sleep 0.05; done\","
                + "\"terminal\":{\"rows\":30,\"cols\":90}}");
    try (var events = new EventReader(server.stream(request).body())) {
      String exec = sandbox + "/execs/" + events.next("started").data().get("id").asText();
      assertThat(events.next("stdout").data().get("text").asText()).contains("30 90");
      assertThat(server.post(exec + "/resize", "{\"rows\":40,\"cols\":100}").status())
          .isEqualTo(204);
      assertThat(events.next("stdout").data().get("text").asText()).contains("40 100");
    }
  }

  @Test
  void whatHasNoTerminalCannotBeResized() {
    Answer started =
        server.post(sandbox + "/exec", "{\"command\":\"sleep 30\",\"background\":true}");
    Answer resized = server.post(started.header("Location") + "/resize", "{\"rows\":1,\"cols\":1}");
    assertThat(resized.status()).isEqualTo(409);
  }

  private JsonNode page(String path) {
    return server
        .send(
            server
                .request("GET", path, BodyPublishers.noBody())
                .header("Accept", "application/json")
                .build())
        .json();
  }

  private static String text(List<Event> events, String name) {
    return events.stream()
        .filter(event -> event.name().equals(name))
        .map(event -> event.data().get("text").asText())
        .collect(Collectors.joining());
  }
}
