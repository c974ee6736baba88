package dev.carrel.server.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.server.EventReader;
import dev.carrel.server.LiveServer;
import dev.carrel.server.LiveServer.Answer;
import dev.carrel.server.RawClient;
import dev.carrel.server.SharedServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.zip.ZipInputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(SharedServer.class)
@Timeout(60)
class FileRoutesTest {
  private final LiveServer server;
  private String sandbox = "";

  FileRoutesTest(LiveServer server) {
    this.server = server;
  }

  @BeforeEach
  void create() {
    sandbox = server.sandbox();
  }

  private Answer get(String path, String... headers) {
    HttpRequest.Builder request =
        server.request("GET", sandbox + "/files/" + path, BodyPublishers.noBody());
    if (headers.length > 0) {
      request.headers(headers);
    }
    return server.send(request.build());
  }

  private Answer put(String path, String body, String... headers) {
    HttpRequest.Builder request =
        server.request("PUT", sandbox + "/files/" + path, BodyPublishers.ofString(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return server.send(request.build());
  }

  @Test
  void aFileComesBackAsItWas() {
    byte[] bytes = new byte[3_000_000];
    new Random(7).nextBytes(bytes);
    Answer put = server.put(sandbox + "/files/deep/er/data.bin", bytes);
    assertThat(put.status()).isEqualTo(204);
    Answer got = get("deep/er/data.bin");
    assertThat(got.bytes()).isEqualTo(bytes);
    assertThat(got.header("ETag")).isEqualTo(put.header("ETag")).startsWith("\"");
    assertThat(got.header("Content-Type")).isEqualTo("application/octet-stream");
    assertThat(got.header("X-Content-Type-Options")).isEqualTo("nosniff");
    assertThat(got.header("Content-Disposition")).startsWith("attachment; filename=\"data.bin\"");
  }

  @Test
  void aBodyInChunksIsAFileToo() {
    byte[] bytes = new byte[700_000];
    new Random(8).nextBytes(bytes);
    Answer put =
        server.send(
            server
                .request(
                    "PUT",
                    sandbox + "/files/chunked",
                    BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(bytes)))
                .build());
    assertThat(put.status()).as(put.text()).isEqualTo(204);
    assertThat(get("chunked").bytes()).isEqualTo(bytes);
  }

  @Test
  void anEmptyFileIsAFile() {
    assertThat(put("empty", "").status()).isEqualTo(204);
    Answer got = get("empty");
    assertThat(got.status()).isEqualTo(200);
    assertThat(got.bytes()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "bytes=0-3, 0123, bytes 0-3/10",
    "bytes=7-, 789, bytes 7-9/10",
    "bytes=-2, 89, bytes 8-9/10",
    "bytes=8-100, 89, bytes 8-9/10",
    "bytes=-100, 0123456789, bytes 0-9/10"
  })
  void rangesArePartsOfTheFile(String range, String part, String contentRange) {
    put("digits", "0123456789");
    Answer got = get("digits", "Range", range);
    assertThat(got.status()).isEqualTo(206);
    assertThat(got.text()).isEqualTo(part);
    assertThat(got.header("Content-Range")).isEqualTo(contentRange);
  }

  @ParameterizedTest
  @ValueSource(strings = {"bytes=10-", "bytes=99-100", "bytes=-0"})
  void rangesBeyondTheFileAreNotSatisfiable(String range) {
    put("digits", "0123456789");
    Answer got = get("digits", "Range", range);
    assertThat(got.status()).isEqualTo(416);
    assertThat(got.code()).isEqualTo("range_not_satisfiable");
    assertThat(got.header("Content-Range")).isEqualTo("bytes */10");
  }

  @ParameterizedTest
  @ValueSource(strings = {"bytes=a-b", "lines=1-2", "bytes=5-2", "bytes=0-1,4-5", "bytes=-"})
  void rangesThatAreNoneAreIgnored(String range) {
    put("digits", "0123456789");
    Answer got = get("digits", "Range", range);
    assertThat(got.status()).isEqualTo(200);
    assertThat(got.text()).isEqualTo("0123456789");
  }

  @Test
  void preconditionsAreHonoured() {
    String first = put("note", "one").header("ETag");
    assertThat(get("note", "If-None-Match", first).status()).isEqualTo(304);
    assertThat(get("note", "If-None-Match", "\"other\"").status()).isEqualTo(200);
    assertThat(put("note", "x", "If-None-Match", "*").status()).isEqualTo(412);
    String second = put("note", "two", "If-Match", first).header("ETag");
    assertThat(second).isNotEqualTo(first);
    assertThat(put("note", "three", "If-Match", first).status()).isEqualTo(412);
    assertThat(put("absent", "x", "If-Match", "*").status()).isEqualTo(412);
    assertThat(get("note", "If-Match", first).status()).isEqualTo(412);
    assertThat(get("note", "Range", "bytes=0-0", "If-Range", first).text()).isEqualTo("two");
    assertThat(get("note", "Range", "bytes=0-0", "If-Range", second).text()).isEqualTo("t");
    assertThat(put("fresh", "x", "If-None-Match", "*").status()).isEqualTo(204);
  }

  @Test
  void headTellsWithoutSending() {
    put("a.txt", "12345");
    Answer head =
        server.send(
            server.request("HEAD", sandbox + "/files/a.txt", BodyPublishers.noBody()).build());
    assertThat(head.status()).isEqualTo(200);
    assertThat(head.header("Content-Length")).isEqualTo("5");
    assertThat(head.header("Content-Type")).isEqualTo("text/plain; charset=utf-8");
    assertThat(head.bytes()).isEmpty();
    Answer absent =
        server.send(
            server.request("HEAD", sandbox + "/files/absent", BodyPublishers.noBody()).build());
    assertThat(absent.status()).isEqualTo(404);
    assertThat(get("a.txt").text()).isEqualTo("12345");
  }

  @Test
  void aDirectoryIsAZip() throws IOException {
    put("dir/a.txt", "A");
    put("dir/sub/b.txt", "BB");
    Answer got = get("dir");
    assertThat(got.header("Content-Type")).isEqualTo("application/zip");
    assertThat(got.header("Content-Disposition")).contains("dir.zip");
    Set<String> names = new TreeSet<>();
    try (var zip = new ZipInputStream(new ByteArrayInputStream(got.bytes()))) {
      for (var entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
        if (!entry.isDirectory()) {
          names.add(entry.getName() + "=" + new String(zip.readAllBytes(), UTF_8));
        }
      }
    }
    assertThat(names).hasSize(2);
    assertThat(names).anyMatch(name -> name.endsWith("a.txt=A"));
    assertThat(names).anyMatch(name -> name.endsWith("sub/b.txt=BB"));
  }

  @Test
  void namesMayBeAnythingThatAFileCanBeCalled() {
    for (String raw :
        new String[] {
          "a%20b", "%C3%A9%F0%9F%98%80", "a;b=c", "%25", "a%3Fb%23c", "100%25.txt", "a+b", "..."
        }) {
      assertThat(put(raw, raw).status()).as(raw).isEqualTo(204);
      assertThat(get(raw).text()).as(raw).isEqualTo(raw);
    }
    JsonNode listing = server.get(sandbox + "/files").json();
    assertThat(listing.findValuesAsText("name"))
        .containsExactlyInAnyOrder("a b", "é😀", "a;b=c", "%", "a?b#c", "100%.txt", "a+b", "...");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "..",
        "../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "a/../../etc/passwd",
        "%2e%2e%2fetc%2fpasswd",
        "a%2Fb",
        "a/./b",
        "a%00b",
        "%c0%ae%c0%ae/etc/passwd",
        "%ff",
        "%zz",
        "a//b",
        ".",
        ""
      })
  void pathsThatLeadElsewhereAreUnreadable(String path) throws IOException {
    for (String method : new String[] {"GET", "PUT", "DELETE", "HEAD"}) {
      try (var client = new RawClient(server.port())) {
        client.send(
            method
                + " "
                + sandbox
                + "/files/"
                + path
                + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\nAuthorization: Bearer "
                + LiveServer.ADA
                + "\r\n\r\n");
        assertThat(client.readHead()).as(method + " " + path).startsWith("HTTP/1.1 400");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "%252e%252e/secret",
        "..%5c..%5cetc%5cpasswd",
        "%5c",
        "name.",
        "name%20",
        "absent/deeper"
      })
  void namesThatOnlyLookLikeEscapesAreJustAbsent(String path) {
    assertThat(get(path).status()).isEqualTo(404);
  }

  @Test
  void overlongNamesAreRefused() {
    assertThat(get("x".repeat(5000)).status()).isEqualTo(422);
    assertThat(get("x/".repeat(200) + "y".repeat(300)).status()).isIn(404, 422);
  }

  @Test
  void filesAreRemoved() {
    put("gone", "x");
    put("full/inside", "x");
    assertThat(server.delete(sandbox + "/files/gone").status()).isEqualTo(204);
    assertThat(server.delete(sandbox + "/files/gone").status()).isEqualTo(404);
    assertThat(server.delete(sandbox + "/files/full").code()).isEqualTo("directory_not_empty");
    assertThat(server.delete(sandbox + "/files/full?recursive=true").status()).isEqualTo(204);
  }

  @Test
  void modesAndAppending() {
    server.send(
        server
            .request("PUT", sandbox + "/files/run.sh?mode=0755", BodyPublishers.ofString("echo a"))
            .build());
    server.send(
        server
            .request(
                "PUT",
                sandbox + "/files/run.sh?append=true&mode=0755",
                BodyPublishers.ofString("b"))
            .build());
    assertThat(get("run.sh").text()).isEqualTo("echo ab");
    Answer stat = server.post(sandbox + "/fs/stat", "{\"path\":\"run.sh\"}");
    assertThat(stat.json().get("mode").asText()).isEqualTo("0755");
    assertThat(stat.json().get("type").asText()).isEqualTo("file");
  }

  @Test
  void filesAreMovedCopiedAndFound() {
    put("a/one.py", "def one():\n  pass\n");
    put("a/two.txt", "def two\n");
    assertThat(server.post(sandbox + "/fs/mkdir", "{\"path\":\"b/c\"}").json().get("type").asText())
        .isEqualTo("dir");
    assertThat(server.post(sandbox + "/fs/copy", "{\"from\":\"a\",\"to\":\"b/c/a\"}").status())
        .isEqualTo(200);
    assertThat(
            server.post(sandbox + "/fs/move", "{\"from\":\"a/two.txt\",\"to\":\"z.txt\"}").status())
        .isEqualTo(200);
    assertThat(get("a/two.txt").status()).isEqualTo(404);
    assertThat(
            server
                .post(
                    sandbox + "/fs/move",
                    "{\"from\":\"z.txt\",\"to\":\"a/one.py\",\"overwrite\":false}")
                .status())
        .isEqualTo(409);
    Answer glob = server.post(sandbox + "/fs/glob", "{\"pattern\":\"**/*.py\"}");
    assertThat(glob.json().get("entries")).hasSize(2);
    Answer grep =
        server.post(sandbox + "/fs/grep", "{\"pattern\":\"def [a-z]+\",\"glob\":\"*.py\"}");
    assertThat(grep.json().get("match_count").asInt()).isEqualTo(2);
    assertThat(grep.json().get("matches").get(0).get("line").asInt()).isEqualTo(1);
  }

  @Test
  void changesAreSeenLive() throws IOException {
    HttpRequest request =
        server
            .request("GET", sandbox + "/fs/watch", BodyPublishers.noBody())
            .header("Accept", "text/event-stream")
            .build();
    try (var events = new EventReader(server.stream(request).body())) {
      server.description().conforms("WatchReady", events.next("ready").data());
      put("seen.txt", "x");
      JsonNode change = events.next("change").data();
      server.description().conforms("WatchChange", change);
      assertThat(change.get("path").asText()).contains("seen.txt");
    }
  }
}
