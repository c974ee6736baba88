package dev.carrel.image;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Pulls images. What was downloaded of a layer is kept, and the next attempt goes on from there.
 */
final class Registries {
  private static final int ATTEMPTS = 5;
  private static final Duration STALLED = Duration.ofSeconds(60);
  private static final int BUFFER = 64 * 1024;

  private final Layers layers;
  private final Path downloads;
  private final ImageLimits limits;
  private final RegistryLogins logins;
  private final Reach reach;
  private final Map<Digest, Turn> fetching = new ConcurrentHashMap<>();
  private @Nullable HttpClient client;

  Registries(
      Layers layers, Path downloads, ImageLimits limits, RegistryLogins logins, Reach reach) {
    this.layers = layers;
    this.downloads = downloads;
    this.limits = limits;
    this.logins = logins;
    this.reach = reach;
  }

  /** Returns the image's layers, lowest first; they are all here then. */
  List<Digest> pull(Reference reference, Platform platform, Progress progress)
      throws IOException, InterruptedException {
    progress.step("asking " + reference.registry());
    var registry = new RegistryClient(client(), reference, logins.of(reference.registry()), reach);
    JsonNode node = Manifest.json(registry.manifest(reference.wanted()));
    if (Manifest.isIndex(node)) {
      Descriptor chosen = Manifest.choose(node, platform);
      progress.log("for " + platform + ": " + chosen.digest());
      node = Manifest.json(registry.manifest(chosen.digest().toString()));
    }
    Manifest manifest = Manifest.of(node);
    JsonNode config = Manifest.json(registry.smallBlob(manifest.config()));
    List<Digest> unpacked = Manifest.layersOf(config, manifest.layers().size());
    long left = limits.maxSize().bytes();
    for (Descriptor layer : manifest.layers()) {
      // One by one: their sum may be more than there are numbers for.
      if (layer.size() > left) {
        throw BadImage.tooLarge("more than " + limits.maxSize().mebibytes() + " MB to download");
      }
      left -= layer.size();
    }
    var allowance = new Allowance(limits);
    for (int i = 0; i < unpacked.size(); i++) {
      String which = "layer " + (i + 1) + " of " + unpacked.size();
      var wanted = new Wanted(manifest.layers().get(i), unpacked.get(i), which);
      fetchOnce(registry, wanted, allowance, progress);
    }
    return unpacked;
  }

  /** Made when it is needed: it reads the host's certificates and has a thread of its own. */
  private synchronized HttpClient client() {
    HttpClient made = client;
    if (made == null) {
      made =
          HttpClient.newBuilder()
              .version(HttpClient.Version.HTTP_1_1)
              .followRedirects(HttpClient.Redirect.NEVER)
              .connectTimeout(Duration.ofSeconds(15))
              .build();
      client = made;
    }
    return made;
  }

  /** Pulls that share a layer share its download too, so they take turns. */
  private void fetchOnce(
      RegistryClient registry, Wanted wanted, Allowance allowance, Progress progress)
      throws IOException, InterruptedException {
    Digest packed = wanted.layer().digest();
    Turn turn = fetching.compute(packed, (_, there) -> Turn.one(there));
    try {
      turn.lock.lockInterruptibly();
      try {
        if (layers.has(wanted.unpacked())) {
          progress.log(wanted.which() + " is here already");
        } else {
          fetch(registry, wanted, allowance, progress);
        }
      } finally {
        turn.lock.unlock();
      }
    } finally {
      fetching.compute(packed, (_, there) -> Turn.less(there));
    }
  }

  private void fetch(RegistryClient registry, Wanted wanted, Allowance allowance, Progress progress)
      throws IOException, InterruptedException {
    Descriptor layer = wanted.layer();
    String which = wanted.which();
    Path file = downloads.resolve(layer.digest().hex());
    progress.step("downloading " + which);
    download(registry, layer, file, progress);
    progress.step("unpacking " + which);
    try (InputStream in = Files.newInputStream(file)) {
      if (!Digest.of(in).equals(layer.digest())) {
        // From here on it would be the same at every attempt.
        Files.deleteIfExists(file);
        throw BadImage.because(which + " is not what its digest says: " + layer.digest());
      }
    }
    try (InputStream in = Files.newInputStream(file)) {
      layers.add(in, wanted.unpacked(), allowance, progress);
    } finally {
      Files.deleteIfExists(file);
    }
  }

  private static void download(
      RegistryClient registry, Descriptor layer, Path file, Progress progress)
      throws IOException, InterruptedException {
    for (int attempt = 1; ; attempt++) {
      try {
        if (goOn(registry, layer, file, progress)) {
          return;
        }
        throw new IOException("the connection ended early");
      } catch (IOException e) {
        if (attempt == ATTEMPTS || Thread.interrupted()) {
          throw e;
        }
        progress.log(
            "broke off at %d of %d bytes, going on: %s"
                .formatted(here(file), layer.size(), e.getMessage()));
      }
    }
  }

  /** Downloads what is missing; true when all is here. */
  private static boolean goOn(
      RegistryClient registry, Descriptor layer, Path file, Progress progress)
      throws IOException, InterruptedException {
    long have = here(file);
    if (have > layer.size()) {
      Files.delete(file);
      have = 0;
    }
    if (have == layer.size() && have > 0) {
      return true;
    }
    HttpResponse<InputStream> response = registry.blob(layer.digest(), have);
    try (InputStream body = new PatientStream(response.body(), STALLED)) {
      boolean resumes =
          response.statusCode() == 206
              && response
                  .headers()
                  .firstValue("Content-Range")
                  .orElse("")
                  .startsWith("bytes " + have + "-");
      long at = resumes ? have : 0;
      if (response.statusCode() == 416) {
        Files.deleteIfExists(file);
        return false;
      }
      try (OutputStream out =
          Files.newOutputStream(
              file,
              StandardOpenOption.CREATE,
              StandardOpenOption.WRITE,
              resumes ? StandardOpenOption.APPEND : StandardOpenOption.TRUNCATE_EXISTING)) {
        return copy(body, out, at, layer.size(), progress);
      }
    }
  }

  private static boolean copy(
      InputStream in, OutputStream out, long from, long size, Progress progress)
      throws IOException {
    byte[] buffer = new byte[BUFFER];
    long at = from;
    for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
      at += count;
      if (at > size) {
        throw BadImage.because("a layer is longer than its manifest says");
      }
      out.write(buffer, 0, count);
      progress.at(at, size);
    }
    return at == size;
  }

  /** A layer as it is downloaded and as it is unpacked, and what it is called meanwhile. */
  private record Wanted(Descriptor layer, Digest unpacked, String which) {}

  /** Whose turn it is with a layer; there while anybody waits or works. */
  private static final class Turn {
    private final ReentrantLock lock = new ReentrantLock();
    private int users;

    static Turn one(@Nullable Turn there) {
      Turn turn = there == null ? new Turn() : there;
      turn.users++;
      return turn;
    }

    static @Nullable Turn less(@Nullable Turn there) {
      return there == null || --there.users == 0 ? null : there;
    }
  }

  private static long here(Path file) throws IOException {
    return Files.exists(file) ? Files.size(file) : 0;
  }
}
