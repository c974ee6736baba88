package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import dev.carrel.engine.testkit.Eventually;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Files in and out, against who wants others. Cases F02, F05 to F09, C04, C07. */
@ExtendWith(Carrel.class)
class TransferAttackIT {
  private final Api api;
  private final HttpClient anybody = HttpClient.newHttpClient();
  private Box box;

  TransferAttackIT(Api api) {
    this.api = api;
  }

  @BeforeEach
  void create() {
    box = api.create("{}");
  }

  @AfterEach
  void delete() {
    anybody.close();
    box.close();
  }

  @Test
  void archivesThatLeadOutBringNothing() throws IOException {
    assertThat(unpack("good", "d/a", "1").get("success").asBoolean()).isTrue();
    for (String name :
        List.of("../evil", "../../../tmp/evil", "/tmp/evil", "d\\..\\evil", "a/../../evil")) {
      JsonNode refused = unpack("in", "first", "1", name, "2");
      assertThat(refused.get("code").asText()).as(name).isEqualTo("invalid_input");
    }
    assertThat(unpack("in", "zeros", "\0".repeat(8 << 20)).get("code").asText())
        .isEqualTo("too_large");
    assertThat(unpack("in", "A", "1", "a", "2").get("code").asText()).isEqualTo("invalid_input");
    String tar =
        box.shell(
            "cd /tmp && ln -s /etc link && mkdir d && mkfifo d/pipe && tar cf l.tar link && tar cf"
                + " p.tar d && base64 -w0 l.tar > l.b64 && base64 -w0 p.tar > p.b64");
    assertThat(tar).endsWith("exit 0");
    for (String file : List.of("/tmp/l.b64", "/tmp/p.b64")) {
      String content = box.exec("cat " + file).get("stdout").asText();
      assertThat(bring(inline("a.tar", content, "in").put("unpack", true)).get("code").asText())
          .isEqualTo("invalid_input");
    }
    assertThat(box.exec("ls -A /workspace; ls /tmp | grep evil").get("stdout").asText())
        .isEqualTo("good\n");
  }

  @Test
  void aLinkInsideTheSandboxIsNoWayOutOfTheWorkspace() {
    box.exec("ln -s /etc/passwd out; ln -s / up; echo 1 > plain; ln -s plain inside; mkfifo pipe");
    JsonNode files =
        api.call(
                "POST",
                box.path() + "/exports",
                "{\"paths\":[\"out\",\"up\",\"up/etc/passwd\",\"/etc/passwd\",\"pipe\",\"plain\"]}")
            .json()
            .get("files");
    assertThat(files.findValuesAsText("success"))
        .as(files.toString())
        .containsExactly("false", "false", "false", "false", "false", "true");
  }

  @Test
  void aLinkOpensNothingButItsOwnExport() throws Exception {
    box.put("a", "mine");
    box.put("b", "other");
    String mine = link("a", 3600);
    String other = link("b", 3600);
    assertThat(fetch(mine).body()).isEqualTo("mine");
    String signature = mine.substring(mine.indexOf('=') + 1);
    String bare = mine.substring(0, mine.indexOf('?'));
    String end = signature.substring(0, signature.indexOf('.'));
    String mac = signature.substring(signature.indexOf('.') + 1);
    for (String forged :
        List.of(
            bare,
            bare + "?signature=",
            bare + other.substring(other.indexOf('?')),
            bare + "?signature=" + (Long.parseLong(end) + 1) + "." + mac,
            bare + "?signature=" + end + "." + mac.substring(0, 39),
            bare + "?signature=" + end + "." + "0".repeat(40))) {
      HttpResponse<String> refused = fetch(forged);
      assertThat(refused.statusCode()).as(forged).isEqualTo(401);
      assertThat(refused.body()).doesNotContain("mine", "other");
    }
    String brief = link("a", 1);
    Eventually.holds("the link ends", Duration.ofSeconds(30), () -> status(brief) == 401);
  }

  /** What addresses lead to is tried in NetworkIT, where a server listens at them. */
  @Test
  void theHostIsNoSource() {
    for (String source :
        List.of("/etc/shadow", "/proc/self/environ", "/root", "../../etc/passwd", "/")) {
      assertThat(bring(Api.object().put("source", source)).get("success").asBoolean())
          .as(source)
          .isFalse();
    }
    JsonNode file = bring(Api.object().put("url", "file:///etc/passwd"));
    assertThat(file.get("code").asText()).as(file.toString()).isEqualTo("invalid_input");
  }

  @Test
  void anotherSandboxGivesNothingThatItDidNotExport() {
    try (Box other = api.create("{\"namespace\":\"apart\"}");
        Box beside = api.create("{}")) {
      other.put("a", "1");
      beside.put("a", "1");
      beside.put("private", "2");
      for (Box from : List.of(other, beside)) {
        api.call("POST", from.path() + "/exports", "{\"paths\":[\"a\"]}");
      }
      assertThat(bring(exported(other, "a")).get("code").asText()).isEqualTo("forbidden");
      assertThat(bring(exported(beside, "private")).get("code").asText()).isEqualTo("forbidden");
      assertThat(bring(exported(beside, "a/../private")).get("success").asBoolean()).isFalse();
      assertThat(bring(exported(beside, "a")).get("success").asBoolean()).isTrue();
    }
  }

  private static ObjectNode exported(Box from, String path) {
    return Api.object().put("sandbox_id", from.id()).put("path", path);
  }

  private static ObjectNode inline(String name, String base64, String destination) {
    return Api.object()
        .put("file_name", name)
        .put("file_content", base64)
        .put("encoding", "base64")
        .put("destination", destination);
  }

  private JsonNode unpack(String destination, String... namesAndContents) throws IOException {
    var out = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(out)) {
      for (int i = 0; i < namesAndContents.length; i += 2) {
        zip.putNextEntry(new ZipEntry(namesAndContents[i]));
        zip.write(namesAndContents[i + 1].getBytes(StandardCharsets.UTF_8));
        zip.closeEntry();
      }
    }
    String base64 = Base64.getEncoder().encodeToString(out.toByteArray());
    return bring(inline("a.zip", base64, destination).put("unpack", true));
  }

  private JsonNode bring(ObjectNode file) {
    ObjectNode body = Api.object();
    body.putArray("files").add(file);
    return api.post(box.path() + "/imports", body).json().at("/files/0");
  }

  private String link(String path, int seconds) {
    ObjectNode body = Api.object().put("expires_in_seconds", seconds);
    body.putArray("paths").add(path);
    return api.post(box.path() + "/exports", body).json().at("/files/0/download_url").asText();
  }

  private int status(String link) {
    try {
      return fetch(link).statusCode();
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private HttpResponse<String> fetch(String link) throws IOException, InterruptedException {
    return anybody.send(HttpRequest.newBuilder(URI.create(link)).build(), BodyHandlers.ofString());
  }
}
