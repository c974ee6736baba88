package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.SandboxException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReferenceTest {
  private static final String HEX =
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

  @ParameterizedTest
  @CsvSource({
    "alpine, docker.io, library/alpine, latest, alpine:latest",
    "alpine:3.20, docker.io, library/alpine, 3.20, alpine:3.20",
    "team/tools, docker.io, team/tools, latest, team/tools:latest",
    "docker.io/library/alpine:3, docker.io, library/alpine, 3, alpine:3",
    "index.docker.io/a/b:3, docker.io, a/b, 3, a/b:3",
    "ghcr.io/a/b/c:v1_2, ghcr.io, a/b/c, v1_2, ghcr.io/a/b/c:v1_2",
    "localhost/x, localhost, x, latest, localhost/x:latest",
    "127.0.0.1:5000/x:1, 127.0.0.1:5000, x, 1, 127.0.0.1:5000/x:1",
    "[::1]:5000/x:1, [::1]:5000, x, 1, [::1]:5000/x:1",
  })
  void namesAreReadAsDockerReadsThem(
      String text, String registry, String repository, String tag, String shown) {
    Reference reference = Reference.parse(text);

    assertThat(reference).isEqualTo(new Reference(registry, repository, tag, null));
    assertThat(reference).hasToString(shown);
    assertThat(Reference.parse(reference.toString())).isEqualTo(reference);
  }

  @ParameterizedTest
  @ValueSource(strings = {"alpine@sha256:", "ghcr.io/a/b:2@sha256:"})
  void digestIsWhatCounts(String start) {
    assertThat(Reference.parse(start + HEX).wanted()).isEqualTo("sha256:" + HEX);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "Alpine",
        "a b",
        "../x",
        "a/../b",
        "x:",
        ":1",
        "x@sha256:12",
        "x@md5:12",
        "a//b",
        "http://x/y",
        "evil.example/x?y",
        "evil.example:port/x",
        "x:a/b",
        "a..b/c",
        "-x",
        "x#y"
      })
  void whatIsNoNameIsRefused(String text) {
    assertThatExceptionOfType(SandboxException.class).isThrownBy(() -> Reference.parse(text));
  }
}
