package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.LiveServer.Event;
import dev.carrel.server.SharedServer;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Images over HTTP: seen by everybody, changed by administrators. */
@ExtendWith(SharedServer.class)
class ImageRoutesTest {
  private static final String ALL = "/api/v1/images";

  @TempDir private Path temporary;
  private final LiveServer server;

  ImageRoutesTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void imageComesGoesAndIsSeenByEverybody() throws Exception {
    byte[] archive = archive();
    Answer made = send("POST", ALL + "/import?name=team/tools:1", archive);
    assertThat(made.status()).as(made.text()).isEqualTo(201);
    String one = ALL + "/team%2Ftools:1";

    JsonNode image = server.get(one).json();
    assertThat(image).isEqualTo(made.json());
    assertThat(image.get("source").asText()).isEqualTo("archive");
    assertThat(image.get("status").asText()).isEqualTo("ready");
    assertThat(image.get("size_bytes").asLong()).isEqualTo(5);
    assertThat(image.get("engines")).as("the process engine has only the host's root").isEmpty();
    JsonNode list = server.get(ALL).json();
    assertThat(list.get("images").findValuesAsText("name")).contains("host", "team/tools:1");
    assertThat(list.get("disk_bytes").asLong()).isPositive();
    assertThat(server.get(one + "/log").text()).contains("unpacking layer 1 of 1");

    Answer exported = send("GET", one + "/export", new byte[0]);
    assertThat(exported.header("Content-Type")).isEqualTo("application/x-tar");
    assertThat(send("POST", ALL + "/import?name=again", exported.bytes()).status()).isEqualTo(201);

    assertThat(send("DELETE", one, new byte[0]).status()).isEqualTo(204);
    assertThat(server.get(one).code()).isEqualTo("image_not_found");
    Answer pruned =
        send("POST", ALL + "/prune", "{\"unused\":true}".getBytes(StandardCharsets.UTF_8));
    assertThat(pruned.json().get("removed").get(0).asText()).isEqualTo("again");
  }

  @Test
  void progressOfFinishedWorkIsTheImage() {
    List<Event> events =
        server.events(
            server
                .request("GET", ALL + "/host/progress", BodyPublishers.noBody())
                .header("Accept", "text/event-stream")
                .build());

    assertThat(events).extracting(Event::name).containsExactly("image");
    assertThat(events.getFirst().data().get("name").asText()).isEqualTo("host");
  }

  @Test
  void pullIsFollowedToItsEnd() {
    String nowhere = "{\"reference\":\"127.0.0.1:1/tools\",\"platform\":\"linux/arm64\"}";
    HttpRequest.Builder request =
        server
            .request("POST", ALL + "/pull", BodyPublishers.ofString(nowhere))
            .setHeader("Authorization", "Bearer " + LiveServer.ADMIN);
    List<Event> events =
        server.events(request.copy().header("Accept", "text/event-stream").build());
    JsonNode image = events.getLast().data();

    assertThat(events.getLast().name()).isEqualTo("image");
    assertThat(image.get("name").asText()).isEqualTo("127.0.0.1:1/tools:latest");
    assertThat(image.get("status").asText()).isEqualTo("failed");
    assertThat(server.send(request.build()).status()).isEqualTo(202);
    String unknown = "{\"name\":\"no-such-image\"}";
    assertThat(send("POST", ALL + "/build", unknown.getBytes(StandardCharsets.UTF_8)).code())
        .isEqualTo("image_not_found");
    assertThat(server.post(ALL + "/pull", nowhere).status()).isEqualTo(403);
    assertThat(server.post(ALL + "/build", unknown).status()).isEqualTo(403);
    assertThat(send("POST", ALL + "/pull", "{}".getBytes(StandardCharsets.UTF_8)).field())
        .isEqualTo("reference");
  }

  @Test
  void locksAreReadWithCareAndToldOnlyOfWhatWasBuilt() {
    String lock =
        "{\"name\":\"python\",\"lock\":{\"image\":\"%s\",\"release\":\"bookworm\","
            + "\"architecture\":\"arm64\",\"source_date_epoch\":%s,\"packages\":[\"%s\"]}}";

    assertThat(build(lock.formatted("node", "1", "bash:arm64=5")).field()).isEqualTo("lock.image");
    assertThat(build(lock.formatted("python", "-1", "bash:arm64=5")).field())
        .isEqualTo("lock.source_date_epoch");
    assertThat(build(lock.formatted("python", "1", "bash:arm64=5 6")).field())
        .isEqualTo("lock.packages");
    assertThat(build("{\"name\":\"python\",\"lock\":{\"image\":\"python\"}}").field())
        .isEqualTo("lock.source_date_epoch");
    assertThat(build("{\"name\":\"python\",\"snapshot\":\"file:///srv\"}").field())
        .isEqualTo("snapshot");
    assertThat(server.get(ALL + "/python").json().get("status").asText()).isEqualTo("available");
    assertThat(server.get(ALL + "/host/lock").code()).isEqualTo("wrong_state");
    assertThat(server.get(ALL + "/none/lock").code()).isEqualTo("image_not_found");
  }

  private Answer build(String body) {
    return send("POST", ALL + "/build", body.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void brokenImageIsRefusedWithTheReason() {
    Answer refused = send("POST", ALL + "/import?name=broken", new byte[2048]);

    assertThat(refused.status()).isEqualTo(422);
    assertThat(refused.code()).isEqualTo("image_invalid");
    JsonNode image = server.get(ALL + "/broken").json();
    assertThat(image.get("status").asText()).isEqualTo("failed");
    assertThat(image.get("usable").asBoolean()).isFalse();
    assertThat(image.get("failure").asText()).contains("neither an OCI layout");
    assertThat(send("DELETE", ALL + "/broken", new byte[0]).status()).isEqualTo(204);
  }

  @Test
  void usersChangeNothing() {
    assertThat(server.delete(ALL + "/host").status()).isEqualTo(403);
    assertThat(server.post(ALL + "/prune", "{}").status()).isEqualTo(403);
    assertThat(server.get(ALL + "/host/export").status()).isEqualTo(403);
    assertThat(server.post(ALL + "/import?name=x", "").status()).isEqualTo(403);
    assertThat(send("DELETE", ALL + "/host", new byte[0]).code()).isEqualTo("wrong_state");
    assertThat(send("GET", ALL + "/host/export", new byte[0]).code()).isEqualTo("wrong_state");
    assertThat(send("POST", ALL + "/import", new byte[0]).field()).isEqualTo("name");
  }

  private Answer send(String method, String path, byte[] body) {
    HttpRequest.Builder request = server.request(method, path, BodyPublishers.ofByteArray(body));
    return server.send(request.setHeader("Authorization", "Bearer " + LiveServer.ADMIN).build());
  }

  private byte[] archive() throws Exception {
    Files.writeString(temporary.resolve("file"), "hello");
    tar("layer.tar", "file");
    byte[] digest =
        MessageDigest.getInstance("SHA-256")
            .digest(Files.readAllBytes(temporary.resolve("layer.tar")));
    Files.writeString(
        temporary.resolve("c.json"),
        "{\"rootfs\":{\"diff_ids\":[\"sha256:" + HexFormat.of().formatHex(digest) + "\"]}}");
    Files.writeString(
        temporary.resolve("manifest.json"), "[{\"Config\":\"c.json\",\"Layers\":[\"layer.tar\"]}]");
    tar("archive.tar", "layer.tar", "c.json", "manifest.json");
    return Files.readAllBytes(temporary.resolve("archive.tar"));
  }

  private void tar(String archive, String... members) throws Exception {
    var command = new ArrayList<>(List.of("tar", "-cf", archive));
    command.addAll(List.of(members));
    Process process = new ProcessBuilder(command).directory(temporary.toFile()).start();
    assertThat(process.waitFor()).isZero();
  }
}
