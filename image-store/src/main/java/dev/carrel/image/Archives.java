package dev.carrel.image;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;

/** Images as one file each: OCI layouts, and what {@code docker save} writes. */
final class Archives {
  private static final int MAX_HOPS = 3;

  private final Layers layers;
  private final Path unfinished;
  private final ImageLimits limits;

  Archives(Layers layers, Path unfinished, ImageLimits limits) {
    this.layers = layers;
    this.unfinished = unfinished;
    this.limits = limits;
  }

  /** Takes an archive's layers in; returns them lowest first. */
  List<Digest> read(InputStream source, Platform platform, Progress progress) throws IOException {
    Path file = Files.createTempFile(unfinished, "archive", ".tar");
    try {
      progress.step("receiving");
      save(source, file, progress);
      progress.step("unpacking");
      try (ArchiveFile archive = ArchiveFile.open(file)) {
        return archive.has("index.json")
            ? layout(archive, platform, progress)
            : saved(archive, progress);
      }
    } finally {
      Files.deleteIfExists(file);
    }
  }

  private void save(InputStream source, Path file, Progress progress) throws IOException {
    byte[] buffer = new byte[1 << 16];
    long total = 0;
    try (OutputStream out = Files.newOutputStream(file);
        InputStream in = Layers.decompressed(source)) {
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        total += count;
        if (total > limits.maxSize().bytes()) {
          throw BadImage.tooLarge(
              "an archive of more than " + limits.maxSize().mebibytes() + " MB");
        }
        out.write(buffer, 0, count);
        progress.at(total, -1);
      }
    }
  }

  private List<Digest> layout(ArchiveFile archive, Platform platform, Progress progress)
      throws IOException {
    JsonNode node = Manifest.json(archive.small("index.json"));
    for (int hop = 0; Manifest.isIndex(node); hop++) {
      if (hop == MAX_HOPS) {
        throw BadImage.because("its index leads to an index, and so on");
      }
      node = Manifest.json(blob(archive, Manifest.choose(node, platform)));
    }
    Manifest manifest = Manifest.of(node);
    JsonNode config = Manifest.json(blob(archive, manifest.config()));
    List<Digest> expected = Manifest.layersOf(config, manifest.layers().size());
    var names = manifest.layers().stream().map(layer -> name(layer.digest())).toList();
    addAll(archive, names, expected, progress);
    return expected;
  }

  private static byte[] blob(ArchiveFile archive, Descriptor part) throws IOException {
    byte[] bytes = archive.small(name(part.digest()));
    if (!Digest.of(bytes).equals(part.digest())) {
      throw BadImage.because("its part " + part.digest() + " has another digest");
    }
    return bytes;
  }

  private static String name(Digest digest) {
    return "blobs/sha256/" + digest.hex();
  }

  private List<Digest> saved(ArchiveFile archive, Progress progress) throws IOException {
    if (!archive.has("manifest.json")) {
      throw BadImage.because(
          "it is neither an OCI layout (index.json) nor from docker save (manifest.json)");
    }
    JsonNode all = Manifest.json(archive.small("manifest.json"));
    if (!all.isArray() || all.size() != 1) {
      throw BadImage.because("it has " + all.size() + " images; save one at a time");
    }
    JsonNode one = all.get(0);
    var names = new ArrayList<String>();
    one.path("Layers").forEach(layer -> names.add(layer.asText()));
    if (names.isEmpty() || names.size() > ImageLimits.MAX_LAYERS) {
      throw BadImage.because("it has " + names.size() + " layers");
    }
    JsonNode config = Manifest.json(archive.small(one.path("Config").asText()));
    List<Digest> expected = Manifest.layersOf(config, names.size());
    addAll(archive, names, expected, progress);
    return expected;
  }

  private void addAll(
      ArchiveFile archive, List<String> names, List<Digest> expected, Progress progress)
      throws IOException {
    var allowance = new Allowance(limits);
    for (int i = 0; i < expected.size(); i++) {
      Digest layer = expected.get(i);
      progress.step("unpacking layer " + (i + 1) + " of " + expected.size());
      if (layers.has(layer)) {
        progress.log("layer " + layer + " is here already");
        continue;
      }
      try (InputStream in = archive.open(names.get(i))) {
        layers.add(in, layer, allowance, progress);
      }
    }
  }

  /** Writes a root as an image of one layer that both Docker and OCI tools read. */
  void write(Path root, String name, Platform platform, OutputStream out) throws IOException {
    Path file = Files.createTempFile(unfinished, "export", ".tar");
    try {
      Digest layer = pack(root, file);
      long size = Files.size(file);
      byte[] config = config(platform, layer);
      byte[] manifest = manifest(config, layer, size);
      var tar = new TarWriter(out);
      tar.file("oci-layout", json(node().put("imageLayoutVersion", "1.0.0")));
      tar.file("index.json", index(manifest, name));
      tar.file("manifest.json", dockerManifest(config, layer, name));
      tar.file(name(Digest.of(config)), config);
      tar.file(name(Digest.of(manifest)), manifest);
      try (InputStream in = Files.newInputStream(file)) {
        tar.file(name(layer), 0644, size, 0, in);
      }
      tar.finish();
    } finally {
      Files.deleteIfExists(file);
    }
  }

  private static Digest pack(Path root, Path file) throws IOException {
    MessageDigest algorithm = Digest.sha256();
    try (var out =
        new DigestOutputStream(
            new java.io.BufferedOutputStream(Files.newOutputStream(file), 1 << 16), algorithm)) {
      var tar = new TarWriter(out);
      new RootPacker(root, tar).run();
      tar.finish();
    }
    return Digest.of(algorithm);
  }

  private static byte[] config(Platform platform, Digest layer) throws IOException {
    ObjectNode config =
        node().put("architecture", platform.architecture()).put("os", platform.os());
    config.putObject("config");
    config.putObject("rootfs").put("type", "layers").putArray("diff_ids").add(layer.toString());
    return json(config);
  }

  private static byte[] manifest(byte[] config, Digest layer, long size) throws IOException {
    ObjectNode manifest = node().put("schemaVersion", 2).put("mediaType", Manifest.OCI_MANIFEST);
    describe(manifest.putObject("config"), Manifest.OCI_CONFIG, Digest.of(config), config.length);
    describe(manifest.putArray("layers").addObject(), Manifest.OCI_LAYER, layer, size);
    return json(manifest);
  }

  private static byte[] index(byte[] manifest, String name) throws IOException {
    ObjectNode index = node().put("schemaVersion", 2).put("mediaType", Manifest.OCI_INDEX);
    ObjectNode one = index.putArray("manifests").addObject();
    describe(one, Manifest.OCI_MANIFEST, Digest.of(manifest), manifest.length);
    one.putObject("annotations").put("org.opencontainers.image.ref.name", name);
    return json(index);
  }

  private static byte[] dockerManifest(byte[] config, Digest layer, String name)
      throws IOException {
    var list = Manifest.JSON.createArrayNode();
    ObjectNode one = list.addObject().put("Config", name(Digest.of(config)));
    one.putArray("RepoTags").add(name.indexOf(':') < 0 ? name + ":latest" : name);
    one.putArray("Layers").add(name(layer));
    return json(list);
  }

  private static void describe(ObjectNode node, String type, Digest digest, long size) {
    node.put("mediaType", type).put("digest", digest.toString()).put("size", size);
  }

  private static ObjectNode node() {
    return Manifest.JSON.createObjectNode();
  }

  private static byte[] json(JsonNode node) throws IOException {
    return Manifest.JSON.writeValueAsString(node).getBytes(StandardCharsets.UTF_8);
  }
}
