package dev.carrel.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class MultipartTest {
  private static final String TYPE = "multipart/form-data; boundary=\"xyz\"";

  @Test
  void namesKeepTheirFolders() throws IOException {
    assertThat(read(part("file", "a/b/ż.txt", "one") + part("file", "/c", "") + "--xyz--\r\n"))
        .containsExactly("file a/b/ż.txt one", "file /c ");
  }

  @Test
  void escapedNamesAreWhatTheyStandFor() throws IOException {
    String parts =
        part("file", "a\\\\b", "1") + part("file", "c\\d", "2") + part("file", "%22e%22", "3");
    assertThat(read(parts + "--xyz--"))
        .containsExactly("file a\\b 1", "file c\\d 2", "file \"e\" 3");
  }

  @Test
  void whatLooksLikeABoundaryIsContent() throws IOException {
    String content = "\r\n--xy\r\n-\r--xyz\n\r\r\n--xyy";
    assertThat(read(part("file", "a", content) + "--xyz--")).containsExactly("file a " + content);
  }

  @Test
  void aPartThatNobodyReadIsPassedOver() throws IOException {
    var parts = multipart(part("a", "", "skipped") + part("b", "", "seen") + "--xyz--");
    parts.next();
    Multipart.Part second = Objects.requireNonNull(parts.next());
    assertThat(new String(second.content().readAllBytes(), StandardCharsets.UTF_8))
        .isEqualTo("seen");
    assertThat(parts.next()).isNull();
  }

  @Test
  void bodiesThatEndTooEarlyAreRefused() {
    assertThatThrownBy(() -> read("--xyz\r\nContent-Disposition: form-data; name=\"file\""))
        .isInstanceOf(HttpProblem.class);
    assertThatThrownBy(() -> read(part("file", "a", "x"))).isInstanceOf(HttpProblem.class);
    assertThatThrownBy(() -> read("--abc\r\n")).isInstanceOf(HttpProblem.class);
    assertThatThrownBy(() -> new Multipart(new ByteArrayInputStream(new byte[0]), "text/plain"))
        .isInstanceOf(HttpProblem.class);
  }

  private static String part(String name, String file, String content) {
    return "--xyz\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n\r\n%s\r\n"
        .formatted(name, file, content);
  }

  private static Multipart multipart(String body) throws IOException {
    return new Multipart(new ByteArrayInputStream(body.getBytes(StandardCharsets.UTF_8)), TYPE);
  }

  private static List<String> read(String body) throws IOException {
    Multipart parts = multipart(body);
    var found = new ArrayList<String>();
    for (Multipart.Part part = parts.next(); part != null; part = parts.next()) {
      String content = new String(part.content().readAllBytes(), StandardCharsets.UTF_8);
      found.add(part.name() + " " + part.filename() + " " + content);
    }
    return found;
  }
}
