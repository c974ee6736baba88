package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.image.ImageFolder.Stored;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Pulls from a real registry, directly and through one that misbehaves. */
@Timeout(180)
final class RegistriesIT {
  private static final Platform AMD = new Platform("linux", "amd64", "");

  @TempDir private Path temporary;
  private LocalRegistry registry;
  private ImageFolder images;

  @BeforeEach
  void open() throws Exception {
    registry = new LocalRegistry(Files.createDirectory(temporary.resolve("registry")));
    images = ImageFolder.open(temporary.resolve("images"), ImageLimits.defaults(), null);
  }

  @AfterEach
  void close() {
    registry.close();
  }

  @Test
  void tagAndDigestLeadToTheSameImageAndLayersComeOnce() throws Exception {
    byte[] base = new TarBytes().file("base", "x").bytes();
    Digest first = registry.push("team/tools", "1", base, new TarBytes().file("a", "1").bytes());
    registry.push("team/tools", "2", base, new TarBytes().file("a", "2").bytes());

    Stored byTag = pull(registry.name() + "/team/tools:1", new Listener());
    Stored byDigest = pull(registry.name() + "/team/tools@" + first, new Listener());
    var second = new Listener();
    Stored other = pull(registry.name() + "/team/tools:2", second);

    assertThat(byDigest).isEqualTo(byTag);
    assertThat(images.root(byTag.root()).resolve("a")).hasContent("1");
    assertThat(images.root(other.root()).resolve("a")).hasContent("2");
    assertThat(second.lines()).contains("layer 1 of 2 is here already");
    assertThat(second.steps()).contains("downloading layer 2 of 2");
  }

  @Test
  void platformIsChosenFromTheIndex() throws Exception {
    Digest amd = registry.push("multi", "amd", new TarBytes().file("arch", "amd64").bytes());
    Digest arm = registry.push("multi", "arm", new TarBytes().file("arch", "arm64").bytes());
    registry.index("multi", "latest", List.of("linux/arm64", "linux/amd64"), List.of(arm, amd));
    Reference reference = Reference.parse(registry.name() + "/multi");

    Stored one = images.pull(reference, AMD, new Listener());
    Stored two = images.pull(reference, Platform.parse("linux/arm64"), new Listener());

    assertThat(images.root(one.root()).resolve("arch")).hasContent("amd64");
    assertThat(images.root(two.root()).resolve("arch")).hasContent("arm64");
    assertRefused(
        ErrorCode.IMAGE_INVALID,
        "linux/arm64, linux/amd64",
        () -> images.pull(reference, Platform.parse("linux/mips"), new Listener()));
  }

  @Test
  void corruptedLayerIsRefusedAndNothingOfItStays() throws Exception {
    byte[] layer = new TarBytes().file("a", "content").bytes();
    registry.push("bad", "1", layer);
    Path stored = registry.stored(layer);
    byte[] bytes = Files.readAllBytes(stored);
    bytes[bytes.length / 2] ^= 1;
    Files.write(stored, bytes);

    assertRefused(
        ErrorCode.IMAGE_INVALID,
        "not what its digest says",
        () -> pull(registry.name() + "/bad:1", new Listener()));
    assertNothingLeft();
  }

  @Test
  void maliciousLayerIsRefusedAndNothingOfItStays() throws Exception {
    registry.push("evil", "up", new TarBytes().file("../../escape", "x").bytes());
    registry.push(
        "evil",
        "link",
        new TarBytes().symlink("a", temporary.toString()).file("a/escape", "x").bytes());

    assertRefused(
        ErrorCode.IMAGE_INVALID,
        "leads out of it",
        () -> pull(registry.name() + "/evil:up", new Listener()));
    assertRefused(
        ErrorCode.IMAGE_INVALID,
        "goes through a link",
        () -> pull(registry.name() + "/evil:link", new Listener()));
    assertThat(temporary.resolve("escape")).doesNotExist();
    assertNothingLeft();
  }

  @Test
  void brokenDownloadGoesOnWhereItWas() throws Exception {
    byte[] noise = new byte[600_000];
    new Random(7).nextBytes(noise);
    byte[] layer = new TarBytes().file("noise", Base64.getEncoder().encodeToString(noise)).bytes();
    registry.push("large", "1", layer);
    long size = Files.size(registry.stored(layer));

    try (var proxy = new BadRegistry(registry.name(), false)) {
      proxy.cutBlobsOnceAfter(size / 2);
      var said = new Listener();
      Stored stored = pull(proxy.name() + "/large:1", said);

      assertThat(images.root(stored.root()).resolve("noise"))
          .hasContent(Base64.getEncoder().encodeToString(noise));
      assertThat(proxy.ranges()).hasSize(1);
      assertThat(proxy.ranges().getFirst()).matches("bytes=[1-9][0-9]*-");
      assertThat(said.lines()).anyMatch(line -> line.startsWith("broke off at "));
    }
  }

  @Test
  void tokenIsFetchedWithTheLoginOfTheFile() throws Exception {
    registry.push("private", "1", new TarBytes().file("a", "secret").bytes());

    try (var proxy = new BadRegistry(registry.name(), true)) {
      String name = proxy.name() + "/private:1";
      assertRefused(
          ErrorCode.IMAGE_SOURCE_FAILED, "refuses (401)", () -> pull(name, new Listener()));
      Path logins = temporary.resolve("config.json");
      String both =
          Base64.getEncoder().encodeToString(BadRegistry.LOGIN.getBytes(StandardCharsets.UTF_8));
      Files.writeString(
          logins, "{\"auths\":{\"%s\":{\"auth\":\"%s\"}}}".formatted(proxy.name(), both));
      ImageFolder known =
          ImageFolder.open(temporary.resolve("known"), ImageLimits.defaults(), logins);
      Stored stored = known.pull(Reference.parse(name), AMD, new Listener());

      assertThat(known.root(stored.root()).resolve("a")).hasContent("secret");
    }
  }

  @Test
  void whatIsNotThereIsNotFound() {
    assertRefused(
        ErrorCode.IMAGE_NOT_FOUND,
        "404 from " + registry.name(),
        () -> pull(registry.name() + "/missing:1", new Listener()));
  }

  @Test
  void registryLeadsUsNowhereElse() throws Exception {
    registry.push("moved", "1", new TarBytes().file("a", "x").bytes());

    try (var proxy = new BadRegistry(registry.name(), false)) {
      for (String place : List.of("http://192.0.2.1/x", "file:///etc/passwd", "ftp://x/y")) {
        proxy.redirectBlobs(place);
        assertRefused(
            ErrorCode.IMAGE_SOURCE_FAILED,
            "where we do not go",
            () -> pull(proxy.name() + "/moved:1", new Listener()));
      }
    }
  }

  private Stored pull(String name, Progress progress) throws Exception {
    return images.pull(Reference.parse(name), AMD, progress);
  }

  private void assertNothingLeft() {
    for (String part : List.of("layers", "roots", "unfinished", "downloads")) {
      assertThat(temporary.resolve("images").resolve(part)).isEmptyDirectory();
    }
  }

  private static void assertRefused(ErrorCode code, String why, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .withMessageContaining(why)
        .matches(e -> e.code() == code, code.name());
  }
}
