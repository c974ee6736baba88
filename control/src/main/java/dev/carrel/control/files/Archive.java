package dev.carrel.control.files;

import dev.carrel.control.redact.RedactedStream;
import dev.carrel.control.redact.Redaction;
import dev.carrel.guest.FileDownload;
import dev.carrel.guest.FileEntry;
import dev.carrel.guest.FileListing;
import dev.carrel.guest.GuestFiles;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.attribute.FileTime;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * A directory as a zip, written while it is read. Nothing in it can lead an extractor astray: names
 * are relative and without {@code ..}, links and devices are left out, and what a path turned into
 * meanwhile is resolved inside the sandbox.
 */
final class Archive {
  private static final int MAX_DEPTH = 64;
  private static final int BUFFER = 64 * 1024;

  private final GuestFiles files;
  private final FileSettings settings;
  private final Redaction redaction;
  private int renamed;

  Archive(GuestFiles files, FileSettings settings, Redaction redaction) {
    this.files = files;
    this.settings = settings;
    this.redaction = redaction;
  }

  /** Returns how many bytes of files went in. */
  long write(String directory, OutputStream out) throws IOException {
    FileListing listing = files.list(directory, MAX_DEPTH, settings.maxZipEntries());
    if (listing.truncated()) {
      throw tooLarge("more than " + settings.maxZipEntries() + " files");
    }
    long announced =
        listing.entries().stream()
            .filter(entry -> entry.type() == FileEntry.Type.FILE)
            .mapToLong(FileEntry::size)
            .reduce(0, Math::addExact);
    if (announced > settings.maxZip().bytes()) {
      throw tooLarge(announced + " bytes, at most " + settings.maxZip().bytes());
    }
    var target = new Target(out);
    try (var zip = new ZipOutputStream(target)) {
      zip.setLevel(Deflater.BEST_SPEED);
      try {
        return writeAll(directory, listing, zip);
      } catch (IOException | RuntimeException e) {
        target.broken = true;
        throw e;
      }
    }
  }

  private long writeAll(String directory, FileListing listing, ZipOutputStream zip)
      throws IOException {
    long total = 0;
    for (FileEntry entry : listing.entries()) {
      String name = shown(relative(directory, entry));
      if (name.isEmpty()) {
        continue;
      }
      if (entry.type() == FileEntry.Type.DIRECTORY) {
        zip.putNextEntry(new ZipEntry(name + "/"));
        zip.closeEntry();
      } else if (entry.type() == FileEntry.Type.FILE) {
        total += add(zip, name, entry, settings.maxZip().bytes() - total);
      }
    }
    return total;
  }

  private long add(ZipOutputStream zip, String name, FileEntry entry, long room)
      throws IOException {
    FileDownload source;
    try {
      source = files.read(entry.path());
    } catch (SandboxException e) {
      if (passedOver(e.code())) {
        return 0;
      }
      throw e;
    }
    try (source) {
      var header = new ZipEntry(name);
      header.setLastModifiedTime(FileTime.from(entry.modified()));
      zip.putNextEntry(header);
      byte[] buffer = new byte[BUFFER];
      RedactedStream clean = redaction.stream();
      long total = 0;
      for (int count = source.read(buffer); count >= 0; count = source.read(buffer)) {
        total += count;
        if (total > room) {
          throw tooLarge("over " + settings.maxZip().bytes() + " bytes");
        }
        write(zip, clean.next(ByteBuffer.wrap(buffer, 0, count)));
      }
      write(zip, clean.end());
      zip.closeEntry();
      return total;
    }
  }

  /** A name without secrets in it, and still unlike all others. */
  private String shown(String name) {
    String clean = redaction.text(name);
    return clean.equals(name) ? name : clean + "." + ++renamed;
  }

  private static void write(ZipOutputStream zip, ByteBuffer bytes) throws IOException {
    zip.write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
  }

  /** Gone, replaced or closed to us since it was listed: an archive of a live folder goes on. */
  private static boolean passedOver(ErrorCode code) {
    return code == ErrorCode.FILE_NOT_FOUND
        || code == ErrorCode.NOT_A_FILE
        || code == ErrorCode.NOT_A_DIRECTORY
        || code == ErrorCode.PERMISSION_DENIED;
  }

  /** Empty for what must not be in a zip. */
  private static String relative(String directory, FileEntry entry) {
    String prefix = directory.endsWith("/") ? directory : directory + "/";
    if (!entry.exact() || !entry.path().startsWith(prefix)) {
      return "";
    }
    String name = entry.path().substring(prefix.length());
    for (String part : name.split("/", -1)) {
      if (part.isEmpty() || part.equals(".") || part.equals("..") || part.indexOf('\\') >= 0) {
        return "";
      }
    }
    return name;
  }

  private static SandboxException tooLarge(String what) {
    return new SandboxException(ErrorCode.TOO_LARGE, "the directory has " + what)
        .withHint("download parts of it, or raise file.max-zip and file.max-zip-entries");
  }

  /**
   * The caller's stream, which stays open. Closing a zip writes its directory, which would make a
   * broken one look whole: it only gets through when all went well.
   */
  private static final class Target extends FilterOutputStream {
    private boolean broken;

    Target(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      if (!broken) {
        out.write(bytes, offset, length);
      }
    }

    @Override
    public void close() throws IOException {
      flush();
    }
  }
}
