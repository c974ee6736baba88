package dev.carrel.image;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Root folders, put together from layers with hard links: images that have a layer in common have
 * its files in common, and a root costs only its folders. One that is there is whole. Safe for many
 * threads.
 */
final class Roots {
  private final Path folder;
  private final Path unfinished;
  private final Layers layers;
  private final Disk disk;

  Roots(Path folder, Path unfinished, Layers layers, Disk disk) {
    this.folder = folder;
    this.unfinished = unfinished;
    this.layers = layers;
    this.disk = disk;
  }

  /** The name of what these layers make, lowest first. */
  static Digest chain(List<Digest> stack) {
    Digest chain = stack.getFirst();
    for (Digest layer : stack.subList(1, stack.size())) {
      chain = Digest.of((chain + " " + layer).getBytes(StandardCharsets.US_ASCII));
    }
    return chain;
  }

  Path path(Digest chain) {
    return folder.resolve(chain.hex());
  }

  List<Digest> all() throws IOException {
    try (Stream<Path> roots = Files.list(folder)) {
      return roots.map(root -> new Digest(String.valueOf(root.getFileName()))).toList();
    }
  }

  /** Layers that are there, lowest first. Leaves nothing behind when it throws. */
  Digest assemble(List<Digest> stack, Progress progress) throws IOException {
    Digest chain = chain(stack);
    if (Folder.isDirectory(path(chain))) {
      return chain;
    }
    Path home = Files.createTempDirectory(unfinished, "root");
    try {
      Path root = Files.createDirectory(home.resolve("root"));
      Files.setPosixFilePermissions(root, Folder.permissions(0755));
      for (int i = 0; i < stack.size(); i++) {
        progress.at(i, stack.size());
        new Merge(root, layers.files(stack.get(i)), layers.implied(stack.get(i))).run();
      }
      disk.settle(root);
      try {
        Files.move(root, path(chain), StandardCopyOption.ATOMIC_MOVE);
      } catch (FileSystemException e) {
        if (!Folder.isDirectory(path(chain))) {
          throw e;
        }
      }
    } finally {
      Folder.delete(home);
    }
    return chain;
  }

  void delete(Digest chain) throws IOException {
    Path away = Files.createTempDirectory(unfinished, "old");
    Files.move(path(chain), away.resolve("root"), StandardCopyOption.ATOMIC_MOVE);
    Folder.delete(away);
  }

  /** One layer on top of what is there. */
  private static final class Merge {
    private final Path root;
    private final Path layer;
    private final Set<String> implied;

    Merge(Path root, Path layer, Set<String> implied) {
      this.root = root;
      this.layer = layer;
      this.implied = implied;
    }

    void run() throws IOException {
      // Whiteouts are about the layers below, never about what their own layer brings.
      hide(layer, root);
      add(layer, root);
    }

    private void hide(Path from, Path to) throws IOException {
      List<Path> entries = entries(from);
      if (entries.stream().anyMatch(entry -> name(entry).equals(LayerUnpacker.OPAQUE))) {
        for (Path old : entries(to)) {
          Folder.delete(old);
        }
      }
      for (Path entry : entries) {
        String name = name(entry);
        if (name.equals(LayerUnpacker.OPAQUE)) {
          continue;
        }
        if (name.startsWith(LayerUnpacker.WHITEOUT)) {
          Folder.delete(to.resolve(name.substring(LayerUnpacker.WHITEOUT.length())));
        } else if (Folder.isDirectory(entry)) {
          Path below = within(entry, to.resolve(name));
          if (Folder.isDirectory(below)) {
            hide(entry, below);
          }
        }
      }
    }

    private void add(Path from, Path to) throws IOException {
      for (Path entry : entries(from)) {
        String name = name(entry);
        if (name.startsWith(LayerUnpacker.WHITEOUT)) {
          continue;
        }
        BasicFileAttributes kind =
            Files.readAttributes(entry, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        Path target = to.resolve(name);
        if (kind.isDirectory()) {
          addFolder(entry, target);
        } else {
          Folder.delete(target);
          if (kind.isSymbolicLink()) {
            Files.createSymbolicLink(target, Files.readSymbolicLink(entry));
          } else {
            link(target, entry);
          }
        }
      }
    }

    private void addFolder(Path entry, Path target) throws IOException {
      Path place = within(entry, target);
      boolean there = Folder.isDirectory(place);
      if (!there) {
        Folder.delete(place);
        Files.createDirectory(place);
      }
      if (!there || !implied.contains(relative(entry))) {
        Files.setPosixFilePermissions(place, Folder.permissions(Folder.mode(entry)));
      }
      add(entry, place);
    }

    /**
     * Where a folder of the layer goes. A layer that only uses a folder means whatever is there, so
     * {@code bin/tool} goes where the link {@code bin} leads; one that says it is a folder replaces
     * a link.
     */
    private Path within(Path entry, Path target) throws IOException {
      if (!implied.contains(relative(entry)) || !Files.isSymbolicLink(target)) {
        return target;
      }
      return InRoot.resolve(root, root.relativize(target).toString())
          .filter(Folder::isDirectory)
          .orElse(target);
    }

    private String relative(Path entry) {
      return layer.relativize(entry).toString();
    }

    private static void link(Path target, Path source) throws IOException {
      try {
        Files.createLink(target, source);
      } catch (FileSystemException e) {
        // A file can have only so many names.
        Files.copy(source, target, StandardCopyOption.COPY_ATTRIBUTES);
      }
    }

    private static List<Path> entries(Path folder) throws IOException {
      var entries = new ArrayList<Path>();
      try (DirectoryStream<Path> stream = Files.newDirectoryStream(folder)) {
        stream.forEach(entries::add);
      }
      return entries;
    }

    private static String name(Path path) {
      return String.valueOf(path.getFileName());
    }
  }
}
