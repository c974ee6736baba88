package dev.carrel.image;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The distribution's own registry, on a free port of loopback and in a folder of its own. */
final class LocalRegistry implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final HttpClient client = HttpClient.newHttpClient();
  private final Path folder;
  private final int port;
  private final Process process;

  LocalRegistry(Path folder) throws Exception {
    this.folder = folder;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    Path settings = folder.resolve("config.yml");
    Files.writeString(
        settings,
        """
        version: 0.1
        log: {level: error}
        storage: {filesystem: {rootdirectory: %s}, delete: {enabled: true}}
        http: {addr: "127.0.0.1:%d"}
        """
            .formatted(folder, port));
    process =
        new ProcessBuilder("docker-registry", "serve", settings.toString())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();
    awaitAnswer();
  }

  String name() {
    return "127.0.0.1:" + port;
  }

  /** Pushes an image of these layers, compressed; returns its manifest's digest. */
  Digest push(String repository, String tag, byte[]... layers) throws Exception {
    var described = new ArrayList<String>();
    var unpacked = new ArrayList<String>();
    for (byte[] layer : layers) {
      byte[] packed = TarBytes.gzip(layer);
      described.add(describe(Manifest.OCI_LAYER + "+gzip", packed));
      unpacked.add("\"" + Digest.of(layer) + "\"");
      upload(repository, packed);
    }
    byte[] config =
        "{\"os\":\"linux\",\"rootfs\":{\"type\":\"layers\",\"diff_ids\":%s}}"
            .formatted(unpacked)
            .getBytes(StandardCharsets.UTF_8);
    upload(repository, config);
    byte[] manifest =
        "{\"schemaVersion\":2,\"mediaType\":\"%s\",\"config\":%s,\"layers\":%s}"
            .formatted(Manifest.OCI_MANIFEST, describe(Manifest.OCI_CONFIG, config), described)
            .getBytes(StandardCharsets.UTF_8);
    put("/v2/" + repository + "/manifests/" + tag, Manifest.OCI_MANIFEST, manifest);
    return Digest.of(manifest);
  }

  /** Makes a tag that leads to one manifest for each platform. */
  void index(String repository, String tag, List<String> platforms, List<Digest> manifests)
      throws Exception {
    var entries = new ArrayList<String>();
    for (int i = 0; i < platforms.size(); i++) {
      String[] parts = platforms.get(i).split("/", -1);
      byte[] manifest =
          get("/v2/" + repository + "/manifests/" + manifests.get(i), Manifest.OCI_MANIFEST);
      String described = describe(Manifest.OCI_MANIFEST, manifest);
      entries.add(
          described.substring(0, described.length() - 1)
              + ",\"platform\":{\"os\":\"%s\",\"architecture\":\"%s\"}}"
                  .formatted(parts[0], parts[1]));
    }
    byte[] index =
        "{\"schemaVersion\":2,\"mediaType\":\"%s\",\"manifests\":%s}"
            .formatted(Manifest.OCI_INDEX, entries)
            .getBytes(StandardCharsets.UTF_8);
    put("/v2/" + repository + "/manifests/" + tag, Manifest.OCI_INDEX, index);
  }

  /** Where the registry keeps a layer that was pushed. */
  Path stored(byte[] layer) throws IOException {
    String hex = Digest.of(TarBytes.gzip(layer)).hex();
    return folder.resolve(
        "docker/registry/v2/blobs/sha256/" + hex.substring(0, 2) + "/" + hex + "/data");
  }

  private void upload(String repository, byte[] blob) throws Exception {
    HttpResponse<String> begun =
        client.send(
            HttpRequest.newBuilder(uri("/v2/" + repository + "/blobs/uploads/"))
                .POST(BodyPublishers.noBody())
                .build(),
            BodyHandlers.ofString());
    assertThat(begun.statusCode()).as(begun.body()).isEqualTo(202);
    String place = begun.headers().firstValue("Location").orElseThrow();
    String address = place.startsWith("http") ? place : "http://" + name() + place;
    put(
        URI.create(address + (place.contains("?") ? "&" : "?") + "digest=" + Digest.of(blob)),
        "application/octet-stream",
        blob);
  }

  private void put(String path, String type, byte[] body) throws Exception {
    put(uri(path), type, body);
  }

  private void put(URI uri, String type, byte[] body) throws Exception {
    HttpResponse<String> answer =
        client.send(
            HttpRequest.newBuilder(uri)
                .header("Content-Type", type)
                .PUT(BodyPublishers.ofByteArray(body))
                .build(),
            BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
  }

  private byte[] get(String path, String type) throws Exception {
    return client
        .send(
            HttpRequest.newBuilder(uri(path)).header("Accept", type).build(),
            BodyHandlers.ofByteArray())
        .body();
  }

  private URI uri(String path) {
    return URI.create("http://" + name() + path);
  }

  private static String describe(String type, byte[] bytes) {
    return "{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%d}"
        .formatted(type, Digest.of(bytes), bytes.length);
  }

  private void awaitAnswer() throws Exception {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      try {
        client.send(HttpRequest.newBuilder(uri("/v2/")).build(), BodyHandlers.discarding());
        return;
      } catch (IOException e) {
        if (!process.isAlive() || System.nanoTime() - end > 0) {
          throw new AssertionError(Files.readString(folder.resolve("log")), e);
        }
        process.waitFor(50, TimeUnit.MILLISECONDS);
      }
    }
  }

  @Override
  public void close() {
    client.close();
    process.destroy();
    process.onExit().join();
  }
}
