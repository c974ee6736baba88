package dev.carrel.image;

import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Unpacked layers, each in a folder named by the digest of its tar; one that is there is whole.
 * Safe for many threads.
 */
final class Layers {
  private static final String FILES = "files";
  private static final String IMPLIED = "implied";
  private static final int GZIP = 0x1f8b;
  private static final int ZSTD = 0x28b5;
  private static final long RATIO_COUNTS_FROM = 64L << 20;
  private static final int BUFFER = 64 * 1024;

  private final Path folder;
  private final Path unfinished;
  private final ImageLimits limits;
  private final Disk disk;

  /**
   * @param unfinished on the same file system, for what is not whole yet
   */
  Layers(Path folder, Path unfinished, ImageLimits limits, Disk disk) {
    this.folder = folder;
    this.unfinished = unfinished;
    this.limits = limits;
    this.disk = disk;
  }

  boolean has(Digest layer) {
    return Folder.isDirectory(home(layer));
  }

  /** Its files, with whiteouts as they came. */
  Path files(Digest layer) {
    return home(layer).resolve(FILES);
  }

  /** Folders that it uses without saying what they are. */
  Set<String> implied(Digest layer) throws IOException {
    return Set.copyOf(Files.readAllLines(home(layer).resolve(IMPLIED)));
  }

  List<Digest> all() throws IOException {
    var all = new ArrayList<Digest>();
    try (Stream<Path> homes = Files.list(folder)) {
      homes.forEach(home -> all.add(new Digest(String.valueOf(home.getFileName()))));
    }
    return all;
  }

  void delete(Digest layer) throws IOException {
    // First out of sight: a layer that is there is whole.
    Path away = Files.createTempDirectory(unfinished, "old");
    Files.move(home(layer), away.resolve("layer"), StandardCopyOption.ATOMIC_MOVE);
    Folder.delete(away);
  }

  long size(Digest layer) throws IOException {
    return Folder.size(files(layer));
  }

  /** Unpacks the only new layer of an image. */
  Digest add(InputStream source, @Nullable Digest expected, Progress progress) throws IOException {
    return add(source, expected, new Allowance(limits), progress);
  }

  /**
   * Unpacks a layer, compressed or not. Leaves nothing behind when it throws.
   *
   * @param expected what its tar must be; null: whatever it is
   * @param allowance of the image that it is of
   */
  Digest add(InputStream source, @Nullable Digest expected, Allowance allowance, Progress progress)
      throws IOException {
    Path home = Files.createTempDirectory(unfinished, "layer");
    try {
      Digest digest = unpack(source, home, allowance, progress);
      if (expected != null && !digest.equals(expected)) {
        throw BadImage.because("a layer is " + digest + " and not " + expected);
      }
      // Engines go through it with other ids than ours.
      Files.setPosixFilePermissions(home, Folder.permissions(0755));
      // Nobody compares it with its digest again: a name must not survive what it names.
      disk.settle(home);
      try {
        Files.move(home, home(digest), StandardCopyOption.ATOMIC_MOVE);
      } catch (FileSystemException e) {
        // Somebody else may have unpacked the same.
        if (!has(digest)) {
          throw e;
        }
        Folder.delete(home);
      }
      return digest;
    } catch (IOException | RuntimeException e) {
      Folder.delete(home);
      throw e;
    }
  }

  private Digest unpack(InputStream source, Path home, Allowance allowance, Progress progress)
      throws IOException {
    Path files = Files.createDirectory(home.resolve(FILES));
    Files.setPosixFilePermissions(files, Folder.permissions(0755));
    MessageDigest algorithm = Digest.sha256();
    var packed = new Counted(source);
    var plain =
        new Bounded(
            new DigestInputStream(decompressed(packed), algorithm), packed, limits, progress);
    var unpacked = new LayerUnpacker(files, allowance).unpack(plain);
    // What follows the end of a tar belongs to its digest too.
    plain.transferTo(OutputStream.nullOutputStream());
    if (unpacked.leftOut() > 0) {
      progress.log(unpacked.leftOut() + " entries that are neither files nor links were left out");
    }
    Files.write(home.resolve(IMPLIED), new TreeSet<>(unpacked.implied()));
    return Digest.of(algorithm);
  }

  static InputStream decompressed(InputStream source) throws IOException {
    var in = new PushbackInputStream(new BufferedInputStream(source, BUFFER), 2);
    byte[] head = in.readNBytes(2);
    in.unread(head);
    int magic = head.length < 2 ? 0 : ((head[0] & 0xff) << 8) | (head[1] & 0xff);
    if (magic == ZSTD) {
      throw BadImage.because(
          "it is compressed with zstd, which is not supported; use a layer in gzip or plain tar");
    }
    return magic == GZIP ? new GZIPInputStream(in, BUFFER) : in;
  }

  private Path home(Digest layer) {
    return folder.resolve(layer.hex());
  }

  /** Knows how much went through it. */
  private static final class Counted extends FilterInputStream {
    private long count;

    Counted(InputStream in) {
      super(in);
    }

    @Override
    public int read() throws IOException {
      int value = in.read();
      count += value < 0 ? 0 : 1;
      return value;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      int got = in.read(bytes, offset, length);
      count += Math.max(0, got);
      return got;
    }
  }

  /** Ends what grows beyond all reason while it is decompressed. */
  private static final class Bounded extends FilterInputStream {
    private final Counted packed;
    private final ImageLimits limits;
    private final Progress progress;
    private long count;

    Bounded(InputStream in, Counted packed, ImageLimits limits, Progress progress) {
      super(in);
      this.packed = packed;
      this.limits = limits;
      this.progress = progress;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      int got = in.read(bytes, offset, length);
      count += Math.max(0, got);
      // Headers and padding count too: a tar of nothing but names is no smaller on disk.
      long most = limits.maxSize().bytes() + (long) limits.maxFiles() * 1536;
      if (count > most) {
        throw BadImage.tooLarge("a layer of more than " + (most >> 20) + " MB");
      }
      if (count > RATIO_COUNTS_FROM && count / limits.maxRatio() > packed.count) {
        throw BadImage.tooLarge(
            "a layer that is more than " + limits.maxRatio() + " times larger when decompressed");
      }
      progress.at(count, -1);
      return got;
    }

    @Override
    public long skip(long wanted) throws IOException {
      byte[] waste = new byte[(int) Math.min(BUFFER, Math.max(1, wanted))];
      return Math.max(0, read(waste, 0, (int) Math.min(waste.length, wanted)));
    }
  }
}
