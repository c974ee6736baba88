package dev.carrel.image;

import dev.carrel.spi.Text;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Unpacks one layer into a folder of its own. The layer is hostile: names that lead out of the
 * folder or through a link are refused, devices are left out, setuid bits are dropped, nothing
 * belongs to anybody but the server, and whiteouts stay what they are, empty files with a telling
 * name. For one thread and one layer.
 */
final class LayerUnpacker {
  static final String WHITEOUT = ".wh.";
  static final String OPAQUE = ".wh..wh..opq";

  private static final int BUFFER = 64 * 1024;
  private static final int OWN_FOLDER = 0700;
  private static final int OWN_FILE = 0600;
  private static final long MAX_IMPLIED = 16 << 20;
  private static final int IMPLIED_COSTS = 64;

  private final Path folder;
  private final Allowance allowance;
  private final Set<String> implied = new HashSet<>();
  private final byte[] buffer = new byte[BUFFER];
  private long leftOut;
  private long impliedSize;
  // The last folder that something went into: a tar goes on where it is, mostly.
  private List<String> last = List.of();

  /**
   * @param folder exists and is empty
   */
  LayerUnpacker(Path folder, Allowance allowance) {
    this.folder = folder;
    this.allowance = allowance;
  }

  /** Leaves what it has unpacked when it throws. */
  Unpacked unpack(InputStream tar) throws IOException {
    var reader = new TarReader(tar, BadImage::because);
    try {
      for (TarEntry entry = reader.next(); entry != null; entry = reader.next()) {
        allowance.takeEntry();
        unpack(entry, reader);
      }
    } catch (InvalidPathException e) {
      throw BadImage.because(
          "this host's locale has no such name: " + Text.printable(e.getInput(), 100));
    }
    return new Unpacked(leftOut, Set.copyOf(implied));
  }

  private void unpack(TarEntry entry, TarReader reader) throws IOException {
    List<String> names = EntryName.parts(entry.name(), BadImage::because);
    if (names.isEmpty()) {
      // The root itself: its mode is ours.
      return;
    }
    List<String> above = names.subList(0, names.size() - 1);
    if (above.stream().anyMatch(LayerUnpacker::isOwn)) {
      leftOut++;
      return;
    }
    if (above.stream().anyMatch(LayerUnpacker::isMarker)) {
      throw refused(entry.name(), "is within a removal");
    }
    Path path = place(names, entry.name());
    if (isMarker(names.getLast())) {
      mark(path, names.getLast(), entry);
      return;
    }
    switch (entry.type()) {
      case DIRECTORY -> directory(path, names, entry);
      case FILE -> file(path, entry, reader);
      case SYMLINK -> symlink(path, entry);
      case HARDLINK -> hardlink(path, entry);
      case NODE -> leftOut++;
    }
  }

  /** Where an entry goes; every folder above it is a folder and no link. */
  private Path place(List<String> names, String shown) throws IOException {
    List<String> above = names.subList(0, names.size() - 1);
    int known = common(above, last);
    Path parent = folder;
    for (int i = 0; i < above.size(); i++) {
      parent = parent.resolve(above.get(i));
      if (i < known) {
        continue;
      }
      BasicFileAttributes there = Folder.look(parent);
      if (there == null) {
        imply(String.join("/", above.subList(0, i + 1)));
        Files.createDirectory(parent);
        Files.setPosixFilePermissions(parent, Folder.permissions(0755));
      } else if (!there.isDirectory()) {
        throw refused(shown, "goes through a link or a file");
      }
    }
    last = List.copyOf(above);
    return parent.resolve(names.getLast());
  }

  private static int common(List<String> one, List<String> other) {
    int most = Math.min(one.size(), other.size());
    int count = 0;
    while (count < most && one.get(count).equals(other.get(count))) {
      count++;
    }
    return count;
  }

  /** Their names are kept, whole: short entries must not make us keep much. */
  private void imply(String name) {
    allowance.takeEntry();
    impliedSize += name.length() + IMPLIED_COSTS;
    if (impliedSize > MAX_IMPLIED) {
      throw BadImage.tooLarge(
          "more than " + (MAX_IMPLIED >> 20) + " MB of names of folders that are no entries");
    }
    implied.add(name);
  }

  private static boolean isMarker(String name) {
    return name.startsWith(WHITEOUT);
  }

  /** What some tools kept for themselves. */
  private static boolean isOwn(String name) {
    return name.startsWith(WHITEOUT + WHITEOUT) && !name.equals(OPAQUE);
  }

  private void mark(Path path, String name, TarEntry entry) throws IOException {
    String hidden = name.substring(WHITEOUT.length());
    if (hidden.isEmpty() || hidden.equals(".") || hidden.equals("..")) {
      throw refused(entry.name(), "removes nothing that could be meant");
    }
    if (isOwn(name)) {
      leftOut++;
      return;
    }
    makeRoom(path, entry);
    Files.createFile(path);
  }

  private void directory(Path path, List<String> names, TarEntry entry) throws IOException {
    BasicFileAttributes there = Folder.look(path);
    if (there != null && !there.isDirectory()) {
      throw refused(entry.name(), "is there already and no folder");
    }
    if (there == null) {
      Files.createDirectory(path);
    }
    Files.setPosixFilePermissions(path, Folder.permissions(entry.mode() | OWN_FOLDER));
    implied.remove(String.join("/", names));
  }

  private void file(Path path, TarEntry entry, TarReader reader) throws IOException {
    allowance.takeBytes(entry.size());
    makeRoom(path, entry);
    try (OutputStream out =
        Files.newOutputStream(
            path,
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.WRITE,
            LinkOption.NOFOLLOW_LINKS)) {
      for (int count = reader.read(buffer); count >= 0; count = reader.read(buffer)) {
        out.write(buffer, 0, count);
      }
    }
    Files.setPosixFilePermissions(path, Folder.permissions(entry.mode() | OWN_FILE));
    // Python believes its compiled files by the time of their source.
    Files.getFileAttributeView(path, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
        .setTimes(FileTime.from(entry.modified()), null, null);
  }

  private void symlink(Path path, TarEntry entry) throws IOException {
    if (entry.link().isEmpty() || entry.link().indexOf('\0') >= 0) {
      throw refused(entry.name(), "leads nowhere");
    }
    makeRoom(path, entry);
    // Where it leads does not matter: nobody outside a sandbox follows it.
    Files.createSymbolicLink(path, Path.of(entry.link()));
  }

  private void hardlink(Path path, TarEntry entry) throws IOException {
    List<String> names = EntryName.parts(entry.link(), BadImage::because);
    if (names.isEmpty() || names.stream().anyMatch(LayerUnpacker::isMarker)) {
      throw refused(entry.name(), "is another name of something that is no file");
    }
    Path target = folder;
    for (int i = 0; i < names.size(); i++) {
      target = target.resolve(names.get(i));
      BasicFileAttributes there = Folder.look(target);
      boolean last = i == names.size() - 1;
      if (there == null || !(last ? there.isRegularFile() : there.isDirectory())) {
        throw refused(entry.name(), "is another name of something that is no file of its layer");
      }
    }
    if (target.equals(path)) {
      return;
    }
    makeRoom(path, entry);
    Files.createLink(path, target);
  }

  /** A name that comes twice means the second. */
  private static void makeRoom(Path path, TarEntry entry) throws IOException {
    BasicFileAttributes there = Folder.look(path);
    if (there != null && there.isDirectory()) {
      throw refused(entry.name(), "is there already as a folder");
    }
    if (there != null) {
      Files.delete(path);
    }
  }

  private static RuntimeException refused(String name, String why) {
    return BadImage.because("'" + Text.printable(name, 200) + "' " + why);
  }

  /**
   * What came of a layer.
   *
   * @param leftOut devices, pipes and the like
   * @param implied folders that the layer uses without saying what they are
   */
  record Unpacked(long leftOut, Set<String> implied) {}
}
