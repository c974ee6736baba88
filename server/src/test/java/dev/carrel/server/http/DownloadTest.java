package dev.carrel.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Pages that hostile code wrote, by every way that leads to them. */
@ExtendWith(SharedServer.class)
class DownloadTest {
  private static final String PAGE = "<script>fetch('/api/v1/keys')</script>";

  private final LiveServer server;

  DownloadTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void ofASandbox() {
    String file = file(server.sandbox());
    isHeld(server.get(file), "attachment");
    isHeld(server.get(file + "?disposition=inline"), "inline");
    Answer head = server.send(server.request("HEAD", file, BodyPublishers.noBody()).build());
    assertThat(head.header("Content-Security-Policy")).startsWith("sandbox;");
  }

  @Test
  void byALink() {
    String sandbox = server.sandbox();
    file(sandbox);
    JsonNode exported = server.post(sandbox + "/exports", "{\"paths\":[\"page.html\"]}").json();
    URI link = URI.create(exported.at("/files/0/download_url").asText());
    isHeld(server.send(HttpRequest.newBuilder(link).build()), "attachment");
  }

  @Test
  void ofASkill() throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(bytes)) {
      zip.putNextEntry(new ZipEntry("SKILL.md"));
      zip.write("---\nname: hostile\ndescription: Is.\n---\n".getBytes(StandardCharsets.UTF_8));
      zip.putNextEntry(new ZipEntry("page.html"));
      zip.write(PAGE.getBytes(StandardCharsets.UTF_8));
    }
    Answer uploaded =
        server.send(
            server
                .request(
                    "POST",
                    "/api/v1/skills/upload?filename=a.zip",
                    BodyPublishers.ofByteArray(bytes.toByteArray()))
                .header("Content-Type", "application/octet-stream")
                .build());
    assertThat(uploaded.status()).as(uploaded.text()).isEqualTo(201);
    isHeld(server.get("/api/v1/skills/hostile/files/page.html"), "attachment");
    server.delete("/api/v1/skills/hostile");
  }

  @Test
  void asE2bHasThem() {
    JsonNode made = server.post("/sandboxes", "{\"templateID\":\"base\"}").json();
    file("/api/v1/sandboxes/" + made.get("sandboxID").asText());
    HttpRequest.Builder request =
        HttpRequest.newBuilder(server.uri("/files?path=/home/user/page.html"))
            .header("E2b-Sandbox-Id", made.get("sandboxID").asText())
            .header("E2b-Sandbox-Port", "49983")
            .header("X-Access-Token", made.get("envdAccessToken").asText());
    isHeld(server.send(request.build()), "inline");
    Answer part = server.send(request.header("Range", "bytes=1-6").build());
    assertThat(part.status()).isEqualTo(206);
    assertThat(part.text()).isEqualTo("script");
    assertThat(part.header("Content-Range")).isEqualTo("bytes 1-6/" + PAGE.length());
    assertThat(part.header("Content-Security-Policy")).startsWith("sandbox;");
  }

  private String file(String sandbox) {
    String file = sandbox + "/files/page.html";
    Answer written = server.put(file, PAGE.getBytes(StandardCharsets.UTF_8));
    assertThat(written.status()).as(written.text()).isEqualTo(204);
    return file;
  }

  private static void isHeld(Answer answer, String kind) {
    assertThat(answer.text()).isEqualTo(PAGE);
    assertThat(answer.header("Content-Type")).startsWith("text/html");
    assertThat(answer.header("Content-Security-Policy")).isEqualTo("sandbox; default-src 'none'");
    assertThat(answer.header("Content-Disposition")).startsWith(kind + "; filename=\"page.html\";");
    assertThat(answer.header("X-Content-Type-Options")).isEqualTo("nosniff");
  }
}
