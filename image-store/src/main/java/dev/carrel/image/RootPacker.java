package dev.carrel.image;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Writes a root folder into a tar, in the order of names, so that the same root gives the same. */
final class RootPacker {
  private final Path root;
  private final TarWriter tar;

  RootPacker(Path root, TarWriter tar) {
    this.root = root;
    this.tar = tar;
  }

  void run() throws IOException {
    pack(root);
  }

  private void pack(Path folder) throws IOException {
    List<Path> entries = new ArrayList<>();
    try (Stream<Path> list = Files.list(folder)) {
      list.sorted().forEach(entries::add);
    }
    for (Path entry : entries) {
      add(entry);
    }
  }

  private void add(Path entry) throws IOException {
    BasicFileAttributes kind =
        Files.readAttributes(
            entry, BasicFileAttributes.class, java.nio.file.LinkOption.NOFOLLOW_LINKS);
    String name = root.relativize(entry).toString();
    long modified = kind.lastModifiedTime().toMillis() / 1000;
    if (kind.isDirectory()) {
      // A folder's time is when it was unpacked, which says nothing.
      tar.directory(name, Folder.mode(entry), 0);
      pack(entry);
    } else if (kind.isSymbolicLink()) {
      tar.symlink(name, Files.readSymbolicLink(entry).toString(), 0);
    } else if (kind.isRegularFile()) {
      try (InputStream in = Files.newInputStream(entry)) {
        tar.file(name, Folder.mode(entry), kind.size(), modified, in);
      }
    }
  }
}
