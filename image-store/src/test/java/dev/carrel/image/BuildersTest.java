package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.image.Builders.Choice;
import dev.carrel.image.Builders.Finding;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Workshop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BuildersTest {
  private static final Path ABSENT = Path.of("/nonexistent/mmdebstrap");
  private static final Path PRESENT = Path.of("/bin/sh");

  @TempDir private Path etc;

  @BeforeEach
  void makeHost() throws IOException {
    os("ID=debian\nVERSION_CODENAME=trixie\n");
  }

  @Test
  void mmdebstrapIsPreferredWhereItIs() {
    assertThat(builders(Choice.AUTO, PRESENT, FakeWorkshop.idle()).choose().name())
        .isEqualTo("mmdebstrap");
    assertThat(builders(Choice.AUTO, PRESENT, FakeWorkshop.idle()).findings())
        .containsExactly(
            new Finding("mmdebstrap", true, true, "/bin/sh"),
            new Finding("docker", true, false, "on the image debian:trixie-slim"));
  }

  @Test
  void containersTakeItsPlace() {
    Builders builders = builders(Choice.AUTO, ABSENT, FakeWorkshop.idle());

    assertThat(builders.choose().name()).isEqualTo("docker, on debian:trixie-slim");
    assertThat(builders.findings()).extracting(Finding::used).containsExactly(false, true);
  }

  @Test
  void aChoiceIsNeverReplacedByAnother() {
    assertThat(builders(Choice.DOCKER, PRESENT, FakeWorkshop.idle()).choose().name())
        .startsWith("docker");
    refused(builders(Choice.DOCKER, PRESENT, FakeWorkshop.broken("no daemon")))
        .withMessageContaining("docker: no daemon")
        .withMessageNotContaining("mmdebstrap:");
    refused(builders(Choice.MMDEBSTRAP, ABSENT, FakeWorkshop.idle()))
        .withMessageContaining("mmdebstrap: this host does not have it")
        .withMessageNotContaining("docker");
    assertThat(builders(Choice.MMDEBSTRAP, ABSENT, FakeWorkshop.idle()).findings())
        .noneMatch(Finding::used);
  }

  @Test
  void aHostWithNeitherSaysWhatEachLacks() {
    refused(builders(Choice.AUTO, ABSENT, FakeWorkshop.broken("no daemon")))
        .withMessageContaining("apt-get install mmdebstrap; docker: no daemon");
  }

  @Test
  void theBaseIsOfTheHostsReleaseUnlessOneIsNamed() throws IOException {
    os("ID=ubuntu\nVERSION_CODENAME=noble\n");
    assertThat(docker(null)).isEqualTo("docker, on ubuntu:noble");
    os("ID=\"fedora\"\n");
    assertThat(docker(null)).isEqualTo("docker, on debian:stable-slim");
    assertThat(docker(Reference.parse("mirror.example/base:2")))
        .isEqualTo("docker, on mirror.example/base:2");
  }

  private String docker(@Nullable Reference base) {
    return new Builders(Choice.DOCKER, base, List.of(FakeWorkshop.idle()), List.of(), etc)
        .choose()
        .name();
  }

  private static ThrowableAssertAlternative<SandboxException> refused(Builders builders) {
    return assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(builders::choose)
        .matches(e -> e.code() == ErrorCode.NOT_SUPPORTED);
  }

  private Builders builders(Choice choice, Path program, Workshop workshop) {
    return new Builders(choice, null, List.of(workshop), List.of(program), etc);
  }

  private void os(String release) throws IOException {
    Files.writeString(etc.resolve("os-release"), release);
  }
}
