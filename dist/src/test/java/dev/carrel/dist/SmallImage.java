package dev.carrel.dist;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** An image of one layer with one file, as those who hand images on have it. */
final class SmallImage {
  private final Path folder;
  private final byte[] layer;
  private final byte[] config;

  private SmallImage(Path folder, byte[] layer, byte[] config) {
    this.folder = folder;
    this.layer = layer;
    this.config = config;
  }

  static SmallImage in(Path folder) throws Exception {
    Path root = Files.createDirectories(folder.resolve("root/opt"));
    Files.writeString(root.resolve("hello"), "hello\n");
    Path layer = folder.resolve("layer.tar");
    tar(layer, folder.resolve("root"), ".");
    byte[] bytes = Files.readAllBytes(layer);
    String config =
        "{\"os\":\"linux\",\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:%s\"]}}"
            .formatted(sha256(bytes));
    return new SmallImage(folder, bytes, config.getBytes(StandardCharsets.UTF_8));
  }

  byte[] layer() {
    return layer.clone();
  }

  byte[] config() {
    return config.clone();
  }

  /** As {@code docker save} writes it. */
  Path saved() throws Exception {
    Files.write(folder.resolve("config.json"), config);
    Files.writeString(
        folder.resolve("manifest.json"),
        "[{\"Config\":\"config.json\",\"RepoTags\":[\"small:1\"],\"Layers\":[\"layer.tar\"]}]");
    Path saved = folder.resolve("saved.tar");
    tar(saved, folder, "manifest.json", "config.json", "layer.tar");
    return saved;
  }

  /** As a registry tells of it. */
  byte[] manifest() {
    String kind = "application/vnd.oci.image.";
    return "{\"schemaVersion\":2,\"mediaType\":\"%smanifest.v1+json\",\"config\":%s,\"layers\":[%s]}"
        .formatted(
            kind,
            described(kind + "config.v1+json", config),
            described(kind + "layer.v1.tar", layer))
        .getBytes(StandardCharsets.UTF_8);
  }

  private static String described(String type, byte[] bytes) {
    return "{\"mediaType\":\"%s\",\"digest\":\"sha256:%s\",\"size\":%d}"
        .formatted(type, sha256(bytes), bytes.length);
  }

  static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void tar(Path to, Path folder, String... names) throws Exception {
    var command = new ArrayList<>(List.of("tar", "-C", folder.toString(), "-cf", to.toString()));
    command.addAll(List.of(names));
    Process tar = new ProcessBuilder(command).inheritIO().start();
    assertThat(tar.waitFor()).isZero();
  }
}
