package dev.carrel.image;

import dev.carrel.spi.Text;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Writes the upper layer of an overlay as a layer of an image: what the kernel notes of removals
 * becomes what images note of them. The files are a sandbox's, so hostile, but nobody changes them
 * meanwhile. For one thread.
 */
final class ChangesPacker {
  /** What every sandbox has of its own there, as paths below the root. */
  private static final Set<String> OURS =
      Set.of("proc", "sys", "dev", "tmp", "run", "workspace", "opt/carrel");

  // As overlayfs writes it where a sandbox mounts it by itself.
  private static final String OPAQUE = "overlay.opaque";
  private static final int CHARACTER_DEVICE = 0020000;
  private static final int BLOCK_DEVICE = 0060000;
  private static final int TYPE = 0170000;

  private final Path upper;
  private final TarWriter tar;
  private final long maxFiles;
  private final long maxBytes;
  private final Map<Long, String> links = new HashMap<>();
  private long files;
  private long bytes;
  private long leftOut;

  /**
   * @param maxBytes of all files, holes included: more than the disk that they were on means holes
   */
  ChangesPacker(Path upper, TarWriter tar, long maxFiles, long maxBytes) {
    this.upper = upper;
    this.tar = tar;
    this.maxFiles = maxFiles;
    this.maxBytes = maxBytes;
  }

  /** Returns how many pipes and sockets were left out. */
  long run() throws IOException {
    pack(upper);
    return leftOut;
  }

  private void pack(Path folder) throws IOException {
    var entries = new ArrayList<Path>();
    try (Stream<Path> list = Files.list(folder)) {
      list.sorted().forEach(entries::add);
    }
    for (Path entry : entries) {
      String name = upper.relativize(entry).toString();
      if (!OURS.contains(name)) {
        add(entry, checked(name));
      }
    }
  }

  private String checked(String name) {
    if (++files > maxFiles) {
      throw BadImage.tooLarge("more than " + maxFiles + " files");
    }
    String last = name.substring(name.lastIndexOf('/') + 1);
    if (last.startsWith(LayerUnpacker.WHITEOUT)) {
      throw refused(name, "would mean a removal in an image");
    }
    if (name.indexOf('\ufffd') >= 0) {
      throw refused(name, "is not UTF-8");
    }
    return name;
  }

  private void add(Path entry, String name) throws IOException {
    Node node = Node.of(entry);
    if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
      tar.directory(name, node.permissions(), 0);
      if (opaque(entry)) {
        tar.file(name + "/" + LayerUnpacker.OPAQUE, new byte[0]);
      }
      pack(entry);
    } else if (Files.isSymbolicLink(entry)) {
      tar.symlink(name, Files.readSymbolicLink(entry).toString(), 0);
    } else if (Files.isRegularFile(entry, LinkOption.NOFOLLOW_LINKS)) {
      file(entry, name, node);
    } else if (node.isWhiteout()) {
      int cut = name.lastIndexOf('/') + 1;
      String marker = name.substring(0, cut) + LayerUnpacker.WHITEOUT + name.substring(cut);
      tar.file(marker, new byte[0]);
    } else if (node.isDevice()) {
      throw refused(name, "is a device");
    } else {
      leftOut++;
    }
  }

  private void file(Path entry, String name, Node node) throws IOException {
    if (node.names() > 1) {
      String first = links.putIfAbsent(node.number(), name);
      if (first != null) {
        tar.hardlink(name, first, node.permissions(), node.modified());
        return;
      }
    }
    if (node.size() > maxBytes - bytes) {
      throw BadImage.tooLarge(
          "files of more than " + (maxBytes >> 20) + " MB, the holes in them included");
    }
    bytes += node.size();
    try (InputStream in = Files.newInputStream(entry, LinkOption.NOFOLLOW_LINKS)) {
      tar.file(name, node.permissions(), node.size(), node.modified(), in);
    }
  }

  private static boolean opaque(Path folder) throws IOException {
    UserDefinedFileAttributeView view =
        Files.getFileAttributeView(
            folder, UserDefinedFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
    List<String> names = view.list();
    if (!names.contains(OPAQUE) || view.size(OPAQUE) != 1) {
      return false;
    }
    ByteBuffer value = ByteBuffer.allocate(1);
    view.read(OPAQUE, value);
    return new String(value.array(), StandardCharsets.US_ASCII).equals("y");
  }

  private static RuntimeException refused(String name, String why) {
    return BadImage.because("'" + Text.printable(name, 200) + "' " + why);
  }

  /** What the kernel says of an entry. */
  private record Node(int mode, long size, long number, int names, long device, long modified) {
    static Node of(Path entry) throws IOException {
      Map<String, Object> seen =
          Files.readAttributes(
              entry, "unix:mode,size,ino,nlink,rdev,lastModifiedTime", LinkOption.NOFOLLOW_LINKS);
      return new Node(
          (Integer) value(seen, "mode"),
          (Long) value(seen, "size"),
          (Long) value(seen, "ino"),
          (Integer) value(seen, "nlink"),
          (Long) value(seen, "rdev"),
          ((FileTime) value(seen, "lastModifiedTime")).toMillis() / 1000);
    }

    private static Object value(Map<String, Object> seen, String name) {
      return Objects.requireNonNull(seen.get(name));
    }

    int permissions() {
      return mode & 0777;
    }

    boolean isWhiteout() {
      return (mode & TYPE) == CHARACTER_DEVICE && device == 0;
    }

    boolean isDevice() {
      return (mode & TYPE) == CHARACTER_DEVICE || (mode & TYPE) == BLOCK_DEVICE;
    }
  }
}
