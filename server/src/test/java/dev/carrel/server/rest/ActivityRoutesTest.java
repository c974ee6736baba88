package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
@Timeout(60)
class ActivityRoutesTest {
  private final LiveServer server;

  ActivityRoutesTest(LiveServer server) {
    this.server = server;
  }

  private List<String> kinds(String sandbox) {
    return server
        .get(sandbox + "/activity")
        .json()
        .get("activity")
        .valueStream()
        .map(item -> item.get("kind").asText())
        .toList();
  }

  @Test
  void tellsNewestFirstWhatWentOn() {
    String sandbox = server.sandbox();
    server.post(sandbox + "/exec", "{\"command\":\"exit 3\"}");
    server.send(
        server.request("PUT", sandbox + "/files/a.txt", BodyPublishers.ofString("hello")).build());
    server.get(sandbox + "/files/a.txt");
    server.post(sandbox + "/stop", "{}");

    Eventually.until(
        "a download is recorded soon after it", () -> kinds(sandbox).contains("download"));
    assertThat(kinds(sandbox).stream().filter(kind -> !kind.equals("download")))
        .containsExactly("stop", "upload", "exec", "start", "create");
    JsonNode exec =
        server
            .get(sandbox + "/activity")
            .json()
            .get("activity")
            .valueStream()
            .filter(item -> item.get("kind").asText().equals("exec"))
            .findFirst()
            .orElseThrow();
    assertThat(exec.get("subject").asText()).isEqualTo("exit 3");
    assertThat(exec.get("exit_code").asInt()).isEqualTo(3);
    assertThat(server.get(sandbox + "/activity?limit=1").json().get("activity")).hasSize(1);
    assertThat(server.get(sandbox + "/activity?limit=201").field()).isEqualTo("limit");
  }

  @Test
  void partsAndFoldersAreDownloadsAndImportsUploads() {
    String sandbox = server.sandbox();
    String files = "{\"files\":[{\"file_name\":\"d/a.txt\",\"file_content\":\"hello\"}]}";
    assertThat(server.post(sandbox + "/imports", files).status()).isEqualTo(200);
    assertThat(kinds(sandbox)).contains("upload").doesNotContain("file.import");
    assertThat(
            server
                .send(
                    server
                        .request("GET", sandbox + "/files/d/a.txt", BodyPublishers.noBody())
                        .header("Range", "bytes=0-")
                        .build())
                .status())
        .isEqualTo(206);
    Eventually.until(
        "a part is a download", () -> subjects(sandbox).contains("/workspace/d/a.txt"));
    assertThat(server.get(sandbox + "/files/d").status()).isEqualTo(200);
    Eventually.until("so is a folder", () -> subjects(sandbox).contains("/workspace/d"));
  }

  /** Of downloads. */
  private List<String> subjects(String sandbox) {
    return server
        .get(sandbox + "/activity")
        .json()
        .get("activity")
        .valueStream()
        .filter(item -> item.get("kind").asText().equals("download"))
        .map(item -> item.get("subject").asText())
        .toList();
  }

  @Test
  void anothersIsNotThere() {
    String sandbox = server.sandbox();
    assertThat(
            server
                .send(
                    server
                        .request("GET", sandbox + "/activity", BodyPublishers.noBody())
                        .setHeader("Authorization", "Bearer " + LiveServer.BOB)
                        .build())
                .status())
        .isEqualTo(404);
  }
}
