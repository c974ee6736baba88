package dev.carrel.image;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * Builds a root from packages with {@code mmdebstrap}, whose tar is unpacked as if a stranger had
 * sent it.
 */
final class DebianBuild {
  private static final long GRACE_SECONDS = 30;
  private static final int NAMED_IN_FAILURE = 20;

  private final Layers layers;
  private final Path unfinished;

  DebianBuild(Layers layers, Path unfinished) {
    this.layers = layers;
    this.unfinished = unfinished;
  }

  Built build(Recipe recipe, BuildOrder order, Progress progress)
      throws IOException, InterruptedException {
    AptSources sources = AptSources.of(Path.of("/etc"));
    ImageLock lock = order.lock();
    if (lock != null) {
      require("release", lock.release(), sources.codename());
      require("architecture", lock.architecture(), Platform.host().architecture());
    }
    Snapshot snapshot = order.snapshotOf(recipe);
    if (snapshot != null) {
      sources = sources.at(snapshot);
    }
    long epoch = lock == null ? Instant.now().getEpochSecond() : lock.sourceDateEpoch();
    Path files = Files.createTempDirectory(unfinished, "build");
    try {
      List<String> command =
          lock == null
              ? MmdebstrapCommand.newest(recipe, sources)
              : MmdebstrapCommand.locked(recipe, sources, lock, files);
      progress.step("installing " + recipe.packages().size() + " packages and what they need");
      Digest layer = run(command, epoch, sources, progress);
      List<LockedPackage> installed = InstalledPackages.in(layers.files(layer));
      if (lock != null) {
        requireSame(lock.packages(), installed);
      }
      return new Built(
          layer,
          new ImageLock(
              recipe.name(),
              sources.codename(),
              Platform.host().architecture(),
              epoch,
              snapshot,
              null,
              installed));
    } finally {
      Folder.delete(files);
    }
  }

  private Digest run(List<String> command, long epoch, AptSources sources, Progress progress)
      throws IOException, InterruptedException {
    var builder = new ProcessBuilder(command);
    builder.environment().clear();
    builder
        .environment()
        .put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    builder.environment().put("LC_ALL", "C.UTF-8");
    builder.environment().put("HOME", "/nonexistent");
    builder.environment().put("SOURCE_DATE_EPOCH", Long.toString(epoch));
    Process process = builder.start();
    var said = new Said(progress);
    Thread listener = Thread.ofVirtual().name("build").start(() -> said.read(process));
    try {
      try (OutputStream in = process.getOutputStream()) {
        in.write((String.join("\n", sources.lines()) + "\n").getBytes(StandardCharsets.UTF_8));
      }
      Digest layer = layers.add(process.getInputStream(), null, progress);
      int status = process.waitFor();
      listener.join();
      if (status != 0) {
        throw said.failure("mmdebstrap ended with status " + status);
      }
      return layer;
    } catch (IOException | RuntimeException e) {
      // What it said explains this better than a tar that broke off.
      process.destroy();
      process.waitFor(GRACE_SECONDS, TimeUnit.SECONDS);
      listener.join();
      throw said.failure(String.valueOf(e.getMessage()));
    } finally {
      end(process);
    }
  }

  private static void require(String field, String locked, String here) {
    if (!locked.equals(here)) {
      throw SandboxException.invalid(
              "lock." + field, "the lock is for " + locked + ", and this host is " + here)
          .withHint("a lock is good for one release and one architecture");
    }
  }

  private static void requireSame(List<LockedPackage> locked, List<LockedPackage> installed) {
    var absent = new TreeSet<>(locked);
    installed.forEach(absent::remove);
    var further = new TreeSet<>(installed);
    locked.forEach(further::remove);
    if (!absent.isEmpty() || !further.isEmpty()) {
      throw new SandboxException(
              ErrorCode.IMAGE_SOURCE_FAILED,
              "the build is not what the lock says: it lacks [%s] and has [%s] instead"
                  .formatted(some(absent), some(further)))
          .withHint("the recipe may have changed: build without the lock for a new one");
    }
  }

  private static String some(Iterable<?> all) {
    var named = new ArrayList<String>();
    int more = 0;
    for (Object one : all) {
      if (named.size() < NAMED_IN_FAILURE) {
        named.add(one.toString());
      } else {
        more++;
      }
    }
    return String.join(", ", named) + (more == 0 ? "" : " and " + more + " more");
  }

  private static void end(Process process) throws InterruptedException {
    process.destroy();
    if (!process.waitFor(GRACE_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
    }
  }

  /**
   * What came of it.
   *
   * @param lock without the digest of the image, which is not put together yet
   */
  record Built(Digest layer, ImageLock lock) {}

  /** What a build writes for people. */
  private static final class Said {
    private final Progress progress;
    private final List<String> missing = new ArrayList<>();
    private volatile String error = "";

    Said(Progress progress) {
      this.progress = progress;
    }

    void read(Process process) {
      try (BufferedReader lines =
          new BufferedReader(
              new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          hear(line);
        }
      } catch (IOException e) {
        progress.log("what the build says can no longer be read: " + e.getMessage());
      }
    }

    private void hear(String line) {
      if (line.startsWith("E:")) {
        error = line.substring(2).strip();
      }
      if (line.startsWith(MmdebstrapCommand.MISSING)) {
        missing.add(line.substring(MmdebstrapCommand.MISSING.length()));
      }
      if (line.startsWith("I: ")) {
        progress.step(line.substring(3));
      } else {
        progress.log(line);
      }
    }

    /** To be called when nothing more is read. */
    SandboxException failure(String otherwise) {
      if (!missing.isEmpty()) {
        return new SandboxException(
                ErrorCode.IMAGE_SOURCE_FAILED,
                "the package sources do not have %d of the versions that the lock names: %s"
                    .formatted(missing.size(), some(missing)))
            .withHint("give a snapshot of a time when they were there, or build without the lock");
      }
      return new SandboxException(
              ErrorCode.IMAGE_SOURCE_FAILED,
              "the build failed: " + (error.isEmpty() ? otherwise : error))
          .withHint("'carrel images log NAME' shows everything it said");
    }
  }
}
