package dev.carrel.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PackedFolderTest {
  @Test
  void filesKeepTheirPermissionsAndLinksAreLeftOut(@TempDir Path temporary) throws IOException {
    Path folder = Files.createDirectories(temporary.resolve("greet/scripts"));
    Path main = write(temporary.resolve("greet/SKILL.md"), "how", "rw-r--r--");
    Path script = write(folder.resolve("say.sh"), "echo hello\n", "rwxr-x--x");
    Files.createSymbolicLink(temporary.resolve("greet/link"), script);
    Path named = Files.createSymbolicLink(temporary.resolve("named"), main.resolveSibling("."));

    Path zip;
    try (var packed = PackedFolder.of(named)) {
      zip = packed.zip();
      try (FileSystem inside =
          FileSystems.newFileSystem(zip, Map.of("enablePosixFileAttributes", "true"))) {
        assertThat(permissions(inside.getPath("/SKILL.md"))).isEqualTo("rw-r--r--");
        assertThat(permissions(inside.getPath("/scripts/say.sh"))).isEqualTo("rwxr-x--x");
        assertThat(Files.readString(inside.getPath("/scripts/say.sh"))).isEqualTo("echo hello\n");
        assertThat(Files.exists(inside.getPath("/link"))).isFalse();
      }
    }
    assertThat(zip).doesNotExist();
    assertThat(script).exists();
  }

  private static Path write(Path file, String text, String permissions) throws IOException {
    Files.writeString(file, text);
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
  }

  private static String permissions(Path file) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
  }
}
