package dev.carrel.image;

import dev.carrel.spi.DataSize;
import dev.carrel.spi.Language;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Everything of images that is on this host's disk. What is being made is in a folder that the next
 * start empties; what is in its place is whole. Safe for many threads.
 */
public final class ImageFolder {
  private final Path unfinished;
  private final ImageLimits limits;
  private final Layers layers;
  private final Roots roots;
  private final Archives archives;
  private final Locks locks;

  private final Path downloads;
  private final Registries registries;

  private final Builders builders;

  private ImageFolder(
      Path folder, ImageLimits limits, @Nullable Path logins, Builders builders, Reach reach)
      throws IOException {
    this.limits = limits;
    this.builders = builders;
    unfinished = folder.resolve("unfinished");
    Path layerFolder = folder.resolve("layers");
    Path rootFolder = folder.resolve("roots");
    Path lockFolder = folder.resolve("locks");
    downloads = folder.resolve("downloads");
    // Everybody's programs are in it: other users of this host have no business there.
    Files.createDirectories(
        folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    Folder.delete(unfinished);
    for (Path part : List.of(unfinished, layerFolder, rootFolder, lockFolder, downloads)) {
      Files.createDirectories(part);
    }
    layers = new Layers(layerFolder, unfinished, limits, Disk.HOST);
    roots = new Roots(rootFolder, unfinished, layers, Disk.HOST);
    archives = new Archives(layers, unfinished, limits);
    locks = new Locks(lockFolder, unfinished);
    registries = new Registries(layers, downloads, limits, new RegistryLogins(logins), reach);
  }

  /**
   * Opens or makes it. Only one process may have it open.
   *
   * @param logins who we are to registries, as in Docker's {@code config.json}; null: nobody
   */
  public static ImageFolder open(Path folder, ImageLimits limits, @Nullable Path logins) {
    return open(folder, limits, logins, Builders.usual());
  }

  /** The same, with a say in what images are built with. */
  public static ImageFolder open(
      Path folder, ImageLimits limits, @Nullable Path logins, Builders builders) {
    return open(folder, limits, logins, builders, Reach.NOTHING);
  }

  /** The same, with a say in where registries lead us. */
  public static ImageFolder open(
      Path folder, ImageLimits limits, @Nullable Path logins, Builders builders, Reach reach) {
    try {
      return new ImageFolder(folder, limits, logins, builders, reach);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot open the folder of images " + folder, e);
    }
  }

  /** Reads an OCI layout or what {@code docker save} writes, compressed or not. */
  public Stored importArchive(InputStream source, Platform platform, Progress progress)
      throws IOException {
    return assemble(archives.read(source, platform, progress), progress);
  }

  /** Pulls an image from a registry; what is here of it already is not downloaded again. */
  public Stored pull(Reference reference, Platform platform, Progress progress)
      throws IOException, InterruptedException {
    return assemble(registries.pull(reference, platform, progress), progress);
  }

  /** Builds an image from packages; what exactly it was built of is kept with it. */
  public Stored build(Recipe recipe, BuildOrder order, Progress progress)
      throws IOException, InterruptedException {
    DebianBuild.Built built =
        new DebianBuild(layers, unfinished, builders).build(recipe, order, progress);
    Stored stored = assemble(List.of(built.layer()), progress);
    locks.put(stored.root(), built.lock().of(stored.root()));
    if (order.lock() != null && order.lock().digest() != null) {
      progress.step(
          stored.root().equals(order.lock().digest())
              ? "the image is the lock's, byte for byte"
              : "the packages are the lock's, but not all files are: its image was "
                  + order.lock().digest());
    }
    return stored;
  }

  /** What a root was built of; empty when it was not built here. */
  public Optional<ImageLock> lock(Digest root) throws IOException {
    return locks.find(root);
  }

  /**
   * Puts what a sandbox changed on top of the layers that it started on.
   *
   * @param base lowest first
   * @param upper what overlayfs wrote; nobody changes it meanwhile
   * @param maxSize of the changes, unpacked
   */
  public Stored commit(List<Digest> base, Path upper, DataSize maxSize, Progress progress)
      throws IOException {
    if (base.size() >= ImageLimits.MAX_LAYERS) {
      throw BadImage.because("it would have more than " + ImageLimits.MAX_LAYERS + " layers");
    }
    Path file = Files.createTempFile(unfinished, "commit", ".tar");
    try {
      progress.step("packing the changes");
      try (var out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 16)) {
        var tar = new TarWriter(out);
        long leftOut = new ChangesPacker(upper, tar, limits.maxFiles(), maxSize.bytes()).run();
        tar.finish();
        if (leftOut > 0) {
          progress.log(leftOut + " pipes and sockets were left out");
        }
      }
      progress.step("making a layer of them");
      var stack = new ArrayList<>(base);
      try (InputStream in = Files.newInputStream(file)) {
        stack.add(layers.add(in, null, progress));
      }
      return assemble(stack, progress);
    } finally {
      Files.deleteIfExists(file);
    }
  }

  /** Writes an image as an archive that both Docker and OCI tools read. */
  public void exportArchive(Digest root, String name, Platform platform, OutputStream out)
      throws IOException {
    archives.write(roots.path(root), name, platform, out);
  }

  /** The folder to start sandboxes on. */
  public Path root(Digest root) {
    return roots.path(root);
  }

  /**
   * Removes roots and layers that nobody needs.
   *
   * @param neededRoots those that stay
   * @param neededLayers those that stay
   * @return bytes of the layers that went
   */
  public long sweep(Set<Digest> neededRoots, Set<Digest> neededLayers) throws IOException {
    for (Digest root : roots.all()) {
      if (!neededRoots.contains(root)) {
        roots.delete(root);
      }
    }
    locks.keep(neededRoots);
    // Parts of layers that nobody is downloading.
    long freed = Folder.size(downloads);
    Folder.delete(downloads);
    Files.createDirectory(downloads);
    for (Digest layer : layers.all()) {
      if (!neededLayers.contains(layer)) {
        freed += layers.size(layer);
        layers.delete(layer);
      }
    }
    return freed;
  }

  /** Bytes of these layers' files, each layer once. */
  public long size(Set<Digest> ofLayers) throws IOException {
    long total = 0;
    for (Digest layer : new HashSet<>(ofLayers)) {
      total += layers.size(layer);
    }
    return total;
  }

  private Stored assemble(List<Digest> stack, Progress progress) throws IOException {
    progress.step("putting layers together");
    Digest root = roots.assemble(stack, progress);
    return new Stored(
        root, stack, Folder.size(roots.path(root)), Interpreters.in(roots.path(root)));
  }

  /**
   * An image that is here.
   *
   * @param root what its layers make, which is its digest too
   * @param layers lowest first
   * @param bytes of the files that a sandbox sees
   */
  public record Stored(Digest root, List<Digest> layers, long bytes, Set<Language> languages) {
    public Stored {
      layers = List.copyOf(layers);
      languages = Set.copyOf(languages);
    }
  }
}
