package dev.carrel.server.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.files.ByteRange;
import dev.carrel.control.files.MediaType;
import dev.carrel.server.http.Disposition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DownloadHeadersTest {
  @Test
  void rangesAreRead() {
    assertThat(Ranges.parse("bytes=0-9")).contains(new ByteRange(0L, 9L));
    assertThat(Ranges.parse("bytes=5-")).contains(new ByteRange(5L, null));
    assertThat(Ranges.parse("bytes=-3")).contains(new ByteRange(null, 3L));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "bytes=-",
        "bytes=9-1",
        "bytes=a-b",
        "lines=0-1",
        "bytes=0-1,3-4",
        "",
        "bytes 0-1",
        "bytes=99999999999999999999-"
      })
  void otherRangesAreIgnored(String header) {
    assertThat(Ranges.parse(header)).isEmpty();
  }

  @Test
  void noNameBreaksOutOfItsHeader() {
    String header = Disposition.of("attachment", "a\"; x=\"\r\nSet-Cookie: é");
    assertThat(header)
        .isEqualTo(
            "attachment; filename=\"a_; x=___Set-Cookie: _\";"
                + " filename*=UTF-8''a%22%3B%20x%3D%22%0D%0ASet-Cookie%3A%20%C3%A9");
  }

  @Test
  void typesGoByExtension() {
    assertThat(MediaType.of("a.PNG")).isEqualTo("image/png");
    assertThat(MediaType.of("a.tar.gz")).isEqualTo("application/gzip");
    assertThat(MediaType.of("Makefile")).isEqualTo("application/octet-stream");
  }
}
