package dev.carrel.control.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class SandboxPathTest {
  @ParameterizedTest
  @CsvSource({
    "a,/workspace/a",
    "./a//b/.,/workspace/a/b",
    ".,/workspace",
    "/,/",
    "//etc///hosts,/etc/hosts",
    "/workspace,/workspace",
    "/workspace/x/,/workspace/x",
    "/workspacex,/workspacex",
    "..a/b..,/workspace/..a/b..",
    "a\\..\\b,/workspace/a\\..\\b",
  })
  void relativePathsStartAtTheWorkspace(String path, String expected) {
    SandboxPath given = SandboxPath.of("path", path);
    assertThat(given.absolute()).isEqualTo(expected);
    // The way in and the way back agree.
    assertThat(SandboxPath.shown(given.inside())).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "..", "../x", "a/../b", "/a/..", "a\0b"})
  void nonsenseIsRefusedWithItsField(String path) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> SandboxPath.of("from", path))
        .matches(e -> e.code() == ErrorCode.INVALID_INPUT && e.field().orElse("").equals("from"));
  }

  @Test
  void lengthCountsInBytes() {
    assertThat(SandboxPath.of("path", "/" + "a".repeat(4095)).absolute()).hasSize(4096);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> SandboxPath.of("path", "/" + "é".repeat(2048)));
  }

  @Test
  void dotsGoNowhereAboveTheRoot() {
    assertThat(SandboxPath.plain("/a/./b//../c/")).isEqualTo("/a/c");
    assertThat(SandboxPath.plain("/../../etc")).isEqualTo("/etc");
    assertThat(SandboxPath.plain("/a/..")).isEqualTo("/");
  }
}
