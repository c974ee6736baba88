package dev.carrel.control.host;

import dev.carrel.control.host.HostFolders.Place;
import dev.carrel.control.redact.RedactedStream;
import dev.carrel.control.redact.Redaction;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes files of the host, one step of the way after the other from an open folder: no
 * link is followed, whoever puts one there and whenever. Only regular files are opened, and a file
 * is replaced as a whole or not at all.
 */
final class HostFiles {
  static final int MAX_LISTED = 1000;
  private static final Set<PosixFilePermission> NEW_FILE =
      PosixFilePermissions.fromString("rw-r--r--");
  private static final Set<PosixFilePermission> PRIVATE =
      PosixFilePermissions.fromString("rw-------");
  private static final int COPY = 64 * 1024;

  private final long maxFile;

  HostFiles(long maxFile) {
    this.maxFile = maxFile;
  }

  private interface Work<T> {
    T in(SecureDirectoryStream<Path> folder, Path name) throws IOException;
  }

  /** A part, with values taken out that begin before it or end after it as well. */
  HostContent read(Place place, long offset, int limit, Redaction redaction) {
    return at(
        place,
        (folder, name) -> {
          PosixFileAttributes file = requireFile(folder, name, place);
          int most = (int) Math.min(limit, maxFile);
          try (SeekableByteChannel channel = openToRead(folder, name)) {
            long start = Math.min(offset, file.size());
            int before = (int) Math.min(start, redaction.longest());
            long wanted = (long) before + most + redaction.longest();
            channel.position(start - before);
            ByteBuffer buffer =
                ByteBuffer.allocate((int) Math.min(wanted, file.size() - start + before));
            while (buffer.hasRemaining() && channel.read(buffer) >= 0) {
              // Until it is full or the file ends.
            }
            byte[] clean = clean(buffer.flip(), redaction);
            byte[] bytes =
                Arrays.copyOfRange(
                    clean, Math.min(before, clean.length), Math.min(before + most, clean.length));
            boolean cut = offset + bytes.length < file.size();
            return new HostContent(place.path().toString(), bytes, file.size(), cut);
          }
        });
  }

  /** As many bytes as there were, so that an offset means the same in each part. */
  private static byte[] clean(ByteBuffer bytes, Redaction redaction) {
    RedactedStream stream = redaction.sameLengthStream();
    byte[] clean = new byte[bytes.remaining()];
    ByteBuffer out = ByteBuffer.wrap(clean);
    out.put(stream.next(bytes)).put(stream.end());
    return clean;
  }

  /** Returns the size. */
  long write(Place place, byte[] content) {
    requireSize(place, content.length);
    return at(
        place,
        (folder, name) ->
            replace(
                folder,
                name,
                place,
                target -> {
                  ByteBuffer buffer = ByteBuffer.wrap(content);
                  while (buffer.hasRemaining()) {
                    target.write(buffer);
                  }
                  return content.length;
                }));
  }

  long copy(Place from, Place to) {
    return at(
        from,
        (source, name) -> {
          requireSize(from, requireFile(source, name, from).size());
          try (SeekableByteChannel channel = openToRead(source, name)) {
            return at(
                to,
                (folder, copy) -> replace(folder, copy, to, target -> pour(channel, target, from)));
          }
        });
  }

  List<HostFile> list(Place place) {
    if (place.names().isEmpty()) {
      return within(
          place.root(), List.of(), place, (folder, none) -> entries(folder, place.path()));
    }
    return at(
        place,
        (parent, name) -> {
          try (SecureDirectoryStream<Path> folder = enter(parent, name, place)) {
            return entries(folder, place.path());
          }
        });
  }

  private static List<HostFile> entries(SecureDirectoryStream<Path> folder, Path path)
      throws IOException {
    var found = new ArrayList<HostFile>();
    for (Path entry : folder) {
      Path name = entry.getFileName();
      PosixFileAttributes attributes = attributes(folder, name);
      if (attributes != null) {
        found.add(
            new HostFile(
                name.toString(),
                path.resolve(name).toString(),
                kind(attributes),
                attributes.size(),
                attributes.lastModifiedTime().toInstant()));
      }
      if (found.size() > MAX_LISTED) {
        throw new SandboxException(
            ErrorCode.TOO_LARGE, path + " has more than " + MAX_LISTED + " entries");
      }
    }
    found.sort(Comparator.comparing(HostFile::name));
    return List.copyOf(found);
  }

  private static HostFile.Kind kind(PosixFileAttributes attributes) {
    return attributes.isRegularFile()
        ? HostFile.Kind.FILE
        : attributes.isDirectory()
            ? HostFile.Kind.DIRECTORY
            : attributes.isSymbolicLink() ? HostFile.Kind.LINK : HostFile.Kind.OTHER;
  }

  private interface Content {
    long to(SeekableByteChannel target) throws IOException;
  }

  private static long replace(
      SecureDirectoryStream<Path> folder, Path name, Place place, Content content)
      throws IOException {
    PosixFileAttributes old = attributes(folder, name);
    if (old != null && !old.isRegularFile()) {
      throw notFile(place);
    }
    Path fresh = Path.of(".carrel-" + UUID.randomUUID());
    Set<OpenOption> options =
        Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
    try {
      long size;
      try (SeekableByteChannel target =
          folder.newByteChannel(
              fresh,
              options,
              PosixFilePermissions.asFileAttribute(old == null ? NEW_FILE : PRIVATE))) {
        size = content.to(target);
      }
      if (old != null) {
        giveTo(folder, fresh, old);
      }
      folder.move(fresh, folder, name);
      return size;
    } catch (IOException | RuntimeException e) {
      remove(folder, fresh, e);
      throw e;
    }
  }

  /** Whoever had the file has it still, and may do with it what they could before. */
  private static void giveTo(
      SecureDirectoryStream<Path> folder, Path fresh, PosixFileAttributes old) throws IOException {
    PosixFileAttributeView view =
        folder.getFileAttributeView(fresh, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
    PosixFileAttributes now = view.readAttributes();
    if (!now.group().equals(old.group())) {
      view.setGroup(old.group());
    }
    if (!now.owner().equals(old.owner())) {
      view.setOwner(old.owner());
    }
    view.setPermissions(old.permissions());
  }

  private static void remove(SecureDirectoryStream<Path> folder, Path fresh, Exception why) {
    try {
      folder.deleteFile(fresh);
    } catch (NoSuchFileException e) {
      // It was never made.
      return;
    } catch (IOException e) {
      why.addSuppressed(e);
    }
  }

  private long pour(SeekableByteChannel from, SeekableByteChannel to, Place source)
      throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(COPY);
    long size = 0;
    while (from.read(buffer) >= 0) {
      size += buffer.flip().remaining();
      // It may have grown since it was looked at.
      requireSize(source, size);
      while (buffer.hasRemaining()) {
        to.write(buffer);
      }
      buffer.clear();
    }
    return size;
  }

  private <T> T at(Place place, Work<T> work) {
    if (place.names().isEmpty()) {
      throw notFile(place);
    }
    return within(place.root(), place.names(), place, work);
  }

  /** Goes down to the folder of the last name, and does the work there. */
  private static <T> T within(Path root, List<String> names, Place place, Work<T> work) {
    try (DirectoryStream<Path> first = Files.newDirectoryStream(root)) {
      if (!(first instanceof SecureDirectoryStream<Path> folder)) {
        throw new SandboxException(
            ErrorCode.NOT_SUPPORTED, "this host cannot open files below a folder safely");
      }
      return down(folder, names, place, work);
    } catch (NoSuchFileException e) {
      throw new SandboxException(ErrorCode.FILE_NOT_FOUND, show(place) + " is not there", e);
    } catch (AccessDeniedException e) {
      throw new SandboxException(
          ErrorCode.PERMISSION_DENIED, show(place) + " is not the server's to open", e);
    } catch (FileSystemException e) {
      throw new SandboxException(
          ErrorCode.PERMISSION_DENIED, show(place) + " cannot be opened: " + e.getReason(), e);
    } catch (IOException e) {
      throw new SandboxException(
          ErrorCode.PERMISSION_DENIED, show(place) + " cannot be used: " + e.getMessage(), e);
    }
  }

  private static <T> T down(
      SecureDirectoryStream<Path> folder, List<String> names, Place place, Work<T> work)
      throws IOException {
    if (names.size() <= 1) {
      return work.in(folder, Path.of(names.isEmpty() ? "" : names.getFirst()));
    }
    try (SecureDirectoryStream<Path> next = enter(folder, Path.of(names.getFirst()), place)) {
      return down(next, names.subList(1, names.size()), place, work);
    }
  }

  private static SecureDirectoryStream<Path> enter(
      SecureDirectoryStream<Path> folder, Path name, Place place) throws IOException {
    // Looked at first, so that no pipe or device is opened by mistake.
    PosixFileAttributes attributes = attributes(folder, name);
    if (attributes == null) {
      throw new NoSuchFileException(name.toString());
    }
    if (attributes.isSymbolicLink()) {
      throw link(place);
    }
    if (!attributes.isDirectory()) {
      throw new SandboxException(
          ErrorCode.NOT_A_DIRECTORY, show(place) + " leads through what is no folder");
    }
    return folder.newDirectoryStream(name, LinkOption.NOFOLLOW_LINKS);
  }

  private static PosixFileAttributes requireFile(
      SecureDirectoryStream<Path> folder, Path name, Place place) throws IOException {
    PosixFileAttributes attributes = attributes(folder, name);
    if (attributes == null) {
      throw new NoSuchFileException(name.toString());
    }
    if (attributes.isSymbolicLink()) {
      throw link(place);
    }
    if (!attributes.isRegularFile()) {
      throw notFile(place);
    }
    return attributes;
  }

  private static SeekableByteChannel openToRead(SecureDirectoryStream<Path> folder, Path name)
      throws IOException {
    return folder.newByteChannel(name, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
  }

  /** Of the name itself, wherever it may lead; null: nothing is there. */
  private static @Nullable PosixFileAttributes attributes(
      SecureDirectoryStream<Path> folder, Path name) throws IOException {
    try {
      return folder
          .getFileAttributeView(name, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
          .readAttributes();
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  private void requireSize(Place place, long size) {
    if (size > maxFile) {
      throw new SandboxException(
          ErrorCode.TOO_LARGE, show(place) + " is over the limit of " + maxFile + " bytes");
    }
  }

  private static SandboxException link(Place place) {
    return new SandboxException(
            ErrorCode.FORBIDDEN, show(place) + " leads over a link, and links are not followed")
        .withHint("name the file that the link leads to");
  }

  private static SandboxException notFile(Place place) {
    return new SandboxException(ErrorCode.NOT_A_FILE, show(place) + " is not a regular file");
  }

  private static String show(Place place) {
    return Text.printable(place.path().toString(), 200);
  }
}
