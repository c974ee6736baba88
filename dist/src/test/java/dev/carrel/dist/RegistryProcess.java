package dev.carrel.dist;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** The distribution's registry on a free port of loopback, with one image that was put there. */
final class RegistryProcess implements AutoCloseable {
  private static final long PATIENCE = TimeUnit.MINUTES.toNanos(1);

  private final Process process;
  private final int port;

  private RegistryProcess(Process process, int port) {
    this.process = process;
    this.port = port;
  }

  /** Has the image as {@code small:1}. */
  static RegistryProcess serving(Path folder, SmallImage image) throws Exception {
    store(folder.resolve("docker/registry/v2"), image);
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    Path settings =
        Files.writeString(
            folder.resolve("config.yml"),
            """
            version: 0.1
            log: {level: error}
            storage: {filesystem: {rootdirectory: %s}}
            http: {addr: "127.0.0.1:%d"}
            """
                .formatted(folder, port));
    Process process =
        new ProcessBuilder("docker-registry", "serve", settings.toString())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();
    var registry = new RegistryProcess(process, port);
    try {
      registry.awaitAnswer(folder.resolve("log"));
      return registry;
    } catch (Exception | AssertionError e) {
      registry.close();
      throw e;
    }
  }

  /** Its own files, so that nothing has to be pushed: each digest is a link to a blob. */
  private static void store(Path root, SmallImage image) throws IOException {
    Path repository = root.resolve("repositories/small");
    for (byte[] blob : new byte[][] {image.layer(), image.config(), image.manifest()}) {
      String hex = SmallImage.sha256(blob);
      Path stored = root.resolve("blobs/sha256").resolve(hex.substring(0, 2)).resolve(hex);
      Files.write(Files.createDirectories(stored).resolve("data"), blob);
      link(repository.resolve("_layers/sha256").resolve(hex), hex);
    }
    String manifest = SmallImage.sha256(image.manifest());
    Path manifests = repository.resolve("_manifests");
    link(manifests.resolve("revisions/sha256").resolve(manifest), manifest);
    link(manifests.resolve("tags/1/current"), manifest);
    link(manifests.resolve("tags/1/index/sha256").resolve(manifest), manifest);
  }

  private static void link(Path folder, String hex) throws IOException {
    Files.writeString(Files.createDirectories(folder).resolve("link"), "sha256:" + hex);
  }

  private void awaitAnswer(Path log) throws Exception {
    long end = System.nanoTime() + PATIENCE;
    while (true) {
      try (Socket _ = new Socket(InetAddress.getLoopbackAddress(), port)) {
        return;
      } catch (IOException e) {
        if (System.nanoTime() - end > 0 || process.waitFor(50, TimeUnit.MILLISECONDS)) {
          throw new AssertionError(Files.readString(log), e);
        }
      }
    }
  }

  String name() {
    return "127.0.0.1:" + port;
  }

  @Override
  public void close() {
    process.destroy();
    process.onExit().join();
  }
}
