package dev.carrel.control.transfer;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.List;
import java.util.Set;

/**
 * The folders of this host that may be imported from. Every step is taken from the folder before,
 * by its descriptor, and none follows a link: whatever is renamed or replaced meanwhile, nothing
 * outside is read. Safe for many threads.
 */
final class HostFolders {
  private static final int MAX_DEPTH = 64;
  private static final Path ROOT = Path.of("/");

  private final List<Path> folders;

  /**
   * @param forbidden what is nobody's to read, above all the server's own data
   */
  HostFolders(List<Path> folders, Path forbidden) {
    this.folders = folders.stream().map(folder -> usable(folder, forbidden)).toList();
  }

  private static Path usable(Path folder, Path forbidden) {
    try {
      Path real = folder.toRealPath();
      Path data = forbidden.toRealPath();
      if (data.startsWith(real) || real.startsWith(data)) {
        throw SandboxException.invalid(
            "import.host-folders", folder + " would let callers read the server's own data");
      }
      if (!Files.isDirectory(real)) {
        throw SandboxException.invalid("import.host-folders", folder + " is no folder");
      }
      return real;
    } catch (NoSuchFileException e) {
      throw SandboxException.invalid("import.host-folders", folder + " is not there");
    } catch (IOException e) {
      throw new UncheckedIOException("import.host-folders: " + folder + " cannot be read", e);
    }
  }

  /** What is found, from the outside in. */
  interface Visitor {
    /**
     * @param name relative to what was asked for; empty: that itself
     */
    void folder(String name) throws IOException;

    void file(String name, long size, boolean executable, InputStream content) throws IOException;

    /** Neither file nor folder. */
    void other(String name);
  }

  void read(String source, Visitor visitor) throws IOException {
    Path path = path(source);
    try {
      open(ROOT, path, 0, visitor);
    } catch (NoSuchFileException e) {
      throw new SandboxException(
          ErrorCode.FILE_NOT_FOUND, Text.printable(source, 300) + " is not there", e);
    } catch (FileSystemException e) {
      // A link in the way is among these: the kernel says ELOOP or ENOTDIR.
      throw new SandboxException(
              ErrorCode.PERMISSION_DENIED,
              Text.printable(source, 300)
                  + " cannot be reached without following a link, or not be"
                  + " read",
              e)
          .withHint("name the file by its real path");
    }
  }

  private Path path(String source) {
    Path path;
    try {
      path = Path.of(source);
    } catch (InvalidPathException e) {
      throw SandboxException.invalid("source", "is no path: " + e.getReason());
    }
    boolean plain = path.isAbsolute() && path.equals(path.normalize());
    if (!plain) {
      throw SandboxException.invalid("source", "must be an absolute path without . and ..");
    }
    if (folders.stream().noneMatch(path::startsWith)) {
      throw new SandboxException(
              ErrorCode.FORBIDDEN,
              Text.printable(source, 300) + " is in no folder that may be imported from")
          .withHint("the operator lists such folders in import.host-folders");
    }
    return path;
  }

  private static SecureDirectoryStream<Path> secure(DirectoryStream<Path> stream) {
    if (stream instanceof SecureDirectoryStream<Path> secure) {
      return secure;
    }
    throw new SandboxException(
        ErrorCode.NOT_SUPPORTED, "this system cannot read folders without following links");
  }

  /** Goes down from the root, one name after the other. */
  private static void open(Path folder, Path path, int depth, Visitor visitor) throws IOException {
    try (DirectoryStream<Path> root = Files.newDirectoryStream(folder)) {
      descend(secure(root), path, depth, visitor);
    }
  }

  private static void descend(
      SecureDirectoryStream<Path> folder, Path path, int depth, Visitor visitor)
      throws IOException {
    if (path.getNameCount() == 0) {
      list(folder, "", 0, visitor);
      return;
    }
    Path name = path.getName(depth);
    if (depth < path.getNameCount() - 1) {
      try (SecureDirectoryStream<Path> next =
          folder.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS)) {
        descend(next, path, depth + 1, visitor);
      }
      return;
    }
    PosixFileAttributes kind = look(folder, name);
    if (kind.isSymbolicLink() || kind.isOther()) {
      throw new SandboxException(
          ErrorCode.NOT_A_FILE, Text.printable(path.toString(), 300) + " is a link or a device");
    }
    take(folder, name, "", kind, 0, visitor);
  }

  private static PosixFileAttributes look(SecureDirectoryStream<Path> folder, Path name)
      throws IOException {
    return folder
        .getFileAttributeView(name, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
        .readAttributes();
  }

  private static void take(
      SecureDirectoryStream<Path> folder,
      Path name,
      String shown,
      PosixFileAttributes kind,
      int depth,
      Visitor visitor)
      throws IOException {
    if (kind.isDirectory()) {
      visitor.folder(shown);
      try (SecureDirectoryStream<Path> next =
          folder.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS)) {
        list(next, shown, depth + 1, visitor);
      }
    } else if (kind.isRegularFile()) {
      try (var channel =
              folder.newByteChannel(
                  name, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
          InputStream in = Channels.newInputStream(channel)) {
        visitor.file(
            shown,
            channel.size(),
            kind.permissions().contains(PosixFilePermission.OWNER_EXECUTE),
            in);
      }
    } else {
      visitor.other(shown);
    }
  }

  private static void list(
      SecureDirectoryStream<Path> folder, String shown, int depth, Visitor visitor)
      throws IOException {
    if (depth > MAX_DEPTH) {
      throw new SandboxException(
          ErrorCode.TOO_LARGE, "it is more than " + MAX_DEPTH + " folders deep");
    }
    for (Path entry : folder) {
      Path name = entry.getFileName();
      String inside = shown.isEmpty() ? name.toString() : shown + "/" + name;
      PosixFileAttributes kind;
      try {
        kind = look(folder, name);
      } catch (NoSuchFileException gone) {
        continue;
      }
      take(folder, name, inside, kind, depth, visitor);
    }
  }
}
