package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.image.ImageFolder.Stored;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A root built from packages with mmdebstrap, as small as there is one. */
@Timeout(900)
final class DebianBuildIT {
  @TempDir private Path temporary;

  @Test
  void packagesBecomeARoot() throws Exception {
    ImageFolder images = ImageFolder.open(temporary, ImageLimits.defaults(), null);
    var said = new Listener();

    Stored stored = images.build(new Recipe("tiny", "", List.of("bash")), said);

    Path root = images.root(stored.root());
    assertThat(stored.languages()).containsExactly(Language.BASH);
    assertThat(root.resolve("etc/passwd")).content().contains("carrel:x:1000:1000");
    assertThat(root.resolve("usr/share/man")).isEmptyDirectory();
    assertThat(said.lines())
        .as("the versions of its packages are in the log")
        .anyMatch(line -> line.startsWith("bash\t"));
    assertThat(said.steps()).contains("putting layers together");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> images.build(new Recipe("none", "", List.of("no-such-package-x")), said))
        .withMessageContaining("the build failed")
        .matches(e -> e.code() == ErrorCode.IMAGE_SOURCE_FAILED);
    assertThat(temporary.resolve("unfinished")).isEmptyDirectory();
  }
}
