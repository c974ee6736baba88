package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.dist.config.ConfigurationException;
import dev.carrel.dist.config.StorageConfig;
import dev.carrel.server.auth.TokenFile;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DataDirectoryTest {
  private static final URI ADDRESS = URI.create("http://127.0.0.1:1");

  @TempDir private Path folder;
  private StorageConfig storage = new StorageConfig(Path.of("/"), Path.of("/"));

  @BeforeEach
  void storage() {
    storage = new StorageConfig(folder.resolve("a/data"), folder.resolve("a/run"));
  }

  @Test
  void oneServerAtATime() {
    try (DataDirectory first = DataDirectory.tryHold(storage).orElseThrow()) {
      assertThat(first.tokenFile()).hasParentRaw(storage.data());
      assertThat(DataDirectory.tryHold(storage)).isEmpty();
      assertThat(DataDirectory.isHeld(storage.data())).isTrue();
    }
    assertThat(DataDirectory.isHeld(storage.data())).isFalse();
    DataDirectory.tryHold(storage).orElseThrow().close();
  }

  @Test
  void askingWhoHoldsItDoesNotLetItGo() throws IOException {
    try (DataDirectory first = DataDirectory.tryHold(storage).orElseThrow()) {
      Path lock = first.tokenFile().resolveSibling("lock");
      assertThat(DataDirectory.isHeld(storage.data())).isTrue();
      assertThat(DataDirectory.tryHold(storage)).isEmpty();

      String inode = ":" + Files.getAttribute(lock, "unix:ino") + " ";
      assertThat(Files.readAllLines(Path.of("/proc/locks"))).anyMatch(one -> one.contains(inode));
    }
  }

  @Test
  void twoServersCannotShareARunDirectory() {
    var other = new StorageConfig(folder.resolve("b/data"), storage.run());
    try (DataDirectory first = DataDirectory.tryHold(storage).orElseThrow()) {
      assertThat(first.tokenFile()).hasParentRaw(storage.data());
      assertThatThrownBy(() -> DataDirectory.tryHold(other))
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining("storage.run-directory");
      assertThat(DataDirectory.isHeld(other.data())).isFalse();
    }
    DataDirectory.tryHold(other).orElseThrow().close();
  }

  @Test
  void foldersAreTheOwnersAlone() throws IOException {
    DataDirectory.tryHold(storage).orElseThrow().close();

    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(storage.data())))
        .isEqualTo("rwx------");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(storage.run())))
        .isEqualTo("rwx------");
  }

  @Test
  void thePublishedAddressIsFoundWithItsTokenAndGoesWithTheServer() throws IOException {
    try (DataDirectory data = DataDirectory.tryHold(storage).orElseThrow()) {
      TokenFile.openOrCreate(data.tokenFile());
      data.publish(ADDRESS, Optional.empty());

      assertThat(DataDirectory.published(storage.data()))
          .contains(new DataDirectory.Published(ADDRESS, TokenFile.firstToken(data.tokenFile())));
    }
    assertThat(DataDirectory.published(storage.data())).isEmpty();
  }

  @Test
  void whatAKilledServerPublishedIsTakenAwayByTheNext() throws IOException {
    DataDirectory.tryHold(storage).orElseThrow().close();
    Files.writeString(storage.data().resolve("endpoint"), "address=http://127.0.0.1:1\n");

    DataDirectory.tryHold(storage).orElseThrow().close();

    assertThat(storage.data().resolve("endpoint")).doesNotExist();
  }

  @Test
  void aDirectoryThatCannotBeIsToldWithoutAClassName() throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "x");
    for (Path place : new Path[] {file, Path.of("/proc/nothing")}) {
      assertThatThrownBy(() -> DataDirectory.tryHold(new StorageConfig(place, storage.run())))
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining(place.toString())
          .hasMessageContaining("storage.data-directory")
          .hasMessageNotContaining("Exception");
    }
  }
}
