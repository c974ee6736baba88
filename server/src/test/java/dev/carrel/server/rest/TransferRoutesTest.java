package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.SharedServer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.class)
class TransferRoutesTest {
  private final LiveServer server;
  private final String sandbox;

  TransferRoutesTest(LiveServer server) {
    this.server = server;
    this.sandbox = server.sandbox();
  }

  @Test
  void filesOfJsonComeEachForItself() {
    Answer answer =
        server.post(
            sandbox + "/imports",
            """
            {"files":[{"file_name":"a.txt","file_content":"hé"},
              {"file_name":"b","file_content":"AAE=","encoding":"base64","destination":"d/"},
              {"source":"/etc/passwd"}]}
            """);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    JsonNode files = answer.json().get("files");
    assertThat(answer.json().get("success").asBoolean()).isFalse();
    assertThat(files.get(0).get("destination").asText()).isEqualTo("/workspace/a.txt");
    assertThat(files.get(1).get("destination").asText()).isEqualTo("/workspace/d/b");
    assertThat(files.get(2).get("code").asText()).isEqualTo("forbidden");
    assertThat(files.get(2).get("error").asText()).contains("import.host-folders");
    assertThat(server.get(sandbox + "/files/a.txt").text()).isEqualTo("hé");
    assertThat(server.get(sandbox + "/files/d/b").response().body()).containsExactly(0, 1);
  }

  @Test
  void aFormBringsItsFiles() {
    String form =
        """
        --b
        Content-Disposition: form-data; name="files"; filename="x/one"

        1
        --b
        Content-Disposition: form-data; name="word"

        not a file
        --b
        Content-Disposition: form-data; name="files"; filename="../two"

        2
        --b--
        """
            .replace("\n", "\r\n");
    Answer answer =
        server.send(
            server
                .request("POST", sandbox + "/imports?path=in", BodyPublishers.ofString(form))
                .header("Content-Type", "multipart/form-data; boundary=b")
                .build());
    assertThat(answer.status()).as(answer.text()).isEqualTo(422);
    assertThat(server.get(sandbox + "/files/in/x/one").text()).isEqualTo("1");
  }

  @Test
  void aBodyIsUnpacked() throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(bytes)) {
      zip.putNextEntry(new ZipEntry("d/a"));
      zip.write('1');
      zip.closeEntry();
    }
    Answer answer =
        server.send(
            server
                .request(
                    "POST",
                    sandbox + "/imports?path=here&unpack=true",
                    BodyPublishers.ofByteArray(bytes.toByteArray()))
                .header("Content-Type", "application/octet-stream")
                .build());
    assertThat(answer.json().get("success").asBoolean()).as(answer.text()).isTrue();
    assertThat(server.get(sandbox + "/files/here/d/a").text()).isEqualTo("1");
  }

  @Test
  void aLinkNeedsNoTokenAndNoOtherWillDo() {
    server.put(sandbox + "/files/report.html", "<script>".getBytes(StandardCharsets.UTF_8));
    JsonNode file = export("report.html");
    URI link = URI.create(file.get("download_url").asText());

    Answer answer = server.send(HttpRequest.newBuilder(link).build());
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.text()).isEqualTo("<script>");
    assertThat(answer.header("Content-Disposition")).startsWith("attachment");
    assertThat(answer.header("Content-Security-Policy")).contains("sandbox");
    assertThat(answer.header("Cache-Control")).contains("no-store");
    Answer part = server.send(HttpRequest.newBuilder(link).header("Range", "bytes=1-3").build());
    assertThat(part.status()).isEqualTo(206);
    assertThat(part.text()).isEqualTo("scr");

    server.put(sandbox + "/files/other", new byte[] {'x'});
    String foreign = export("other").get("download_url").asText();
    String signature = foreign.substring(foreign.indexOf('?'));
    String mine = link.toString().substring(0, link.toString().indexOf('?'));
    for (String forged :
        new String[] {mine, mine + signature, mine + "?signature=1.a", link + "0"}) {
      Answer refused = server.send(HttpRequest.newBuilder(URI.create(forged)).build());
      assertThat(refused.status()).as(forged).isEqualTo(401);
      assertThat(refused.code()).isEqualTo("unauthenticated");
    }
  }

  @Test
  void aFolderComesAsAZip() throws IOException {
    server.put(sandbox + "/files/out/a", new byte[] {'1'});
    JsonNode folder = export("out");
    assertThat(folder.get("type").asText()).isEqualTo("dir");
    Answer answer =
        server.send(
            HttpRequest.newBuilder(URI.create(folder.get("download_url").asText())).build());
    assertThat(answer.header("Content-Type")).isEqualTo("application/zip");
    assertThat(answer.header("Content-Disposition")).contains("out.zip");
    try (var zip = new ZipInputStream(new ByteArrayInputStream(answer.response().body()))) {
      assertThat(zip.getNextEntry().getName()).isEqualTo("a");
    }
  }

  @Test
  void exportsAreListedAndTakenBack() {
    server.put(sandbox + "/files/a", new byte[] {'1'});
    JsonNode file = export("a");
    JsonNode listed = server.get(sandbox + "/exports").json().get("items");
    assertThat(listed.findValuesAsText("id")).containsExactly(file.get("id").asText());
    String one = sandbox + "/exports/" + file.get("id").asText();
    assertThat(server.delete(one).status()).isEqualTo(204);
    assertThat(server.delete(one).code()).isEqualTo("export_not_found");
    assertThat(
            server
                .send(HttpRequest.newBuilder(URI.create(file.get("download_url").asText())).build())
                .status())
        .isEqualTo(404);
  }

  @Test
  void anUploadInPartsSpeaksTus() {
    String path = Base64.getEncoder().encodeToString("up/load".getBytes(StandardCharsets.UTF_8));
    Answer begun =
        server.send(
            tus("POST", sandbox + "/uploads", "")
                .header("Upload-Length", "6")
                .header("Upload-Metadata", "path " + path + ",filetype dGV4dA==")
                .build());
    assertThat(begun.status()).as(begun.text()).isEqualTo(201);
    String upload = begun.header("Location");

    assertThat(append(upload, 0, "abc").header("Upload-Offset")).isEqualTo("3");
    assertThat(append(upload, 0, "abc").status()).isEqualTo(409);
    Answer head = server.send(tus("HEAD", upload, "").build());
    assertThat(head.header("Upload-Offset")).isEqualTo("3");
    assertThat(head.header("Upload-Length")).isEqualTo("6");
    assertThat(append(upload, 3, "defg").status()).isEqualTo(413);
    long now = Long.parseLong(server.send(tus("HEAD", upload, "").build()).header("Upload-Offset"));
    assertThat(append(upload, now, "def".substring((int) now - 3)).header("Upload-Offset"))
        .isEqualTo("6");
    assertThat(server.get(sandbox + "/files/up/load").text()).isEqualTo("abcdef");
    assertThat(server.send(tus("DELETE", upload, "").build()).status()).isEqualTo(204);
    assertThat(server.send(tus("HEAD", upload, "").build()).status()).isEqualTo(404);
  }

  @Test
  void anotherVersionOfTusIsRefused() {
    Answer answer =
        server.send(
            server
                .request("POST", sandbox + "/uploads", BodyPublishers.noBody())
                .header("Tus-Resumable", "0.2.2")
                .build());
    assertThat(answer.status()).isEqualTo(412);
    assertThat(answer.header("Tus-Version")).isEqualTo("1.0.0");
  }

  private Answer append(String upload, long offset, String body) {
    return server.send(
        tus("PATCH", upload, body)
            .header("Upload-Offset", Long.toString(offset))
            .header("Content-Type", "application/offset+octet-stream")
            .build());
  }

  private HttpRequest.Builder tus(String method, String path, String body) {
    return server
        .request(
            method, path, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
        .header("Tus-Resumable", "1.0.0");
  }

  private JsonNode export(String path) {
    Answer answer = server.post(sandbox + "/exports", "{\"paths\":[\"" + path + "\"]}");
    assertThat(answer.json().get("success").asBoolean()).as(answer.text()).isTrue();
    return answer.json().get("files").get(0);
  }
}
