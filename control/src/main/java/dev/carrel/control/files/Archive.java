package dev.carrel.control.files;

import dev.carrel.control.redact.RedactedStream;
import dev.carrel.control.redact.Redaction;
import dev.carrel.guest.FileDownload;
import dev.carrel.guest.FileEntry;
import dev.carrel.guest.FileListing;
import dev.carrel.guest.GuestFiles;
import dev.carrel.image.TarWriter;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.BufferedOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.attribute.FileTime;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * A directory as a zip or tar, written while it is read. Nothing in it can lead an extractor
 * astray: names are relative and without {@code ..}, links and devices are left out, and what a
 * path turned into meanwhile is resolved inside the sandbox.
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
  long write(String directory, ArchiveFormat format, OutputStream out) throws IOException {
    FileListing listing = files.list(directory, MAX_DEPTH, settings.maxZipEntries());
    if (listing.truncated()) {
      throw tooLarge("more than " + settings.maxZipEntries() + " files");
    }
    long announced =
        listing.entries().stream()
            .filter(entry -> entry.type() == FileEntry.Type.FILE)
            .mapToLong(FileEntry::size)
            .reduce(0, Archive::sum);
    if (announced > settings.maxZip().bytes()) {
      throw tooLarge(announced + " bytes, at most " + settings.maxZip().bytes());
    }
    return switch (format) {
      case ZIP -> zip(directory, listing, out);
      case TAR -> {
        // What breaks off lacks its end, which every reader misses.
        var tar = new TarWriter(new BufferedOutputStream(out, BUFFER));
        long total = writeAll(directory, listing, new TarSink(tar));
        tar.finish();
        yield total;
      }
    };
  }

  /** The sandbox says how large its files are: together they may be more than a number holds. */
  static long sum(long left, long right) {
    long sum = left + right;
    return sum < 0 ? Long.MAX_VALUE : sum;
  }

  private long zip(String directory, FileListing listing, OutputStream out) throws IOException {
    var target = new Target(out);
    try (var zip = new ZipOutputStream(target)) {
      zip.setLevel(Deflater.BEST_SPEED);
      try {
        return writeAll(directory, listing, new ZipSink(zip));
      } catch (IOException | RuntimeException e) {
        target.broken = true;
        throw e;
      }
    }
  }

  private long writeAll(String directory, FileListing listing, Sink sink) throws IOException {
    long total = 0;
    for (FileEntry entry : listing.entries()) {
      String name = shown(relative(directory, entry));
      if (name.isEmpty()) {
        continue;
      }
      if (entry.type() == FileEntry.Type.DIRECTORY) {
        sink.folder(name, entry);
      } else if (entry.type() == FileEntry.Type.FILE) {
        total += add(sink, name, entry, settings.maxZip().bytes() - total);
      }
    }
    return total;
  }

  private long add(Sink sink, String name, FileEntry entry, long room) throws IOException {
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
      return sink.file(name, entry, source, room);
    }
  }

  /** One kind of archive. */
  private interface Sink {
    void folder(String name, FileEntry entry) throws IOException;

    /** Returns how many bytes the file had. */
    long file(String name, FileEntry entry, FileDownload source, long room) throws IOException;
  }

  private final class ZipSink implements Sink {
    private final ZipOutputStream zip;

    ZipSink(ZipOutputStream zip) {
      this.zip = zip;
    }

    @Override
    public void folder(String name, FileEntry entry) throws IOException {
      zip.putNextEntry(new ZipEntry(name + "/"));
      zip.closeEntry();
    }

    @Override
    public long file(String name, FileEntry entry, FileDownload source, long room)
        throws IOException {
      var header = new ZipEntry(name);
      header.setLastModifiedTime(FileTime.from(entry.modified()));
      zip.putNextEntry(header);
      byte[] buffer = new byte[BUFFER];
      RedactedStream clean = redaction.stream();
      long total = 0;
      for (int count = source.read(buffer); count >= 0; count = source.read(buffer)) {
        total += count;
        requireRoom(total, room);
        write(zip, clean.next(ByteBuffer.wrap(buffer, 0, count)));
      }
      write(zip, clean.end());
      zip.closeEntry();
      return total;
    }
  }

  /** A tar says how long a file is before it comes: a secret in it is masked by as many bytes. */
  private final class TarSink implements Sink {
    private final TarWriter tar;

    TarSink(TarWriter tar) {
      this.tar = tar;
    }

    @Override
    public void folder(String name, FileEntry entry) throws IOException {
      tar.directory(name, entry.mode() & 0777, entry.modified().getEpochSecond());
    }

    @Override
    public long file(String name, FileEntry entry, FileDownload source, long room)
        throws IOException {
      long size = source.entry().size();
      requireRoom(size, room);
      tar.file(
          name,
          entry.mode() & 0777,
          size,
          entry.modified().getEpochSecond(),
          new Masked(source, redaction.sameLengthStream()));
      return size;
    }
  }

  private void requireRoom(long bytes, long room) {
    if (bytes > room) {
      throw tooLarge("over " + settings.maxZip().bytes() + " bytes");
    }
  }

  /** A file without the secrets in it. */
  private static final class Masked extends InputStream {
    private final FileDownload source;
    private final RedactedStream clean;
    private final byte[] buffer = new byte[BUFFER];
    private ByteBuffer ready = ByteBuffer.allocate(0);
    private boolean ended;

    Masked(FileDownload source, RedactedStream clean) {
      this.source = source;
      this.clean = clean;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      while (!ready.hasRemaining()) {
        if (ended) {
          return -1;
        }
        int count = source.read(buffer);
        ended = count < 0;
        ready = ended ? clean.end() : clean.next(ByteBuffer.wrap(buffer, 0, count));
      }
      int count = Math.min(length, ready.remaining());
      ready.get(target, offset, count);
      return count;
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

  /** Empty for what must not be in an archive. */
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
