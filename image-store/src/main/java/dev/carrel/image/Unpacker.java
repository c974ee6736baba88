package dev.carrel.image;

import dev.carrel.spi.SandboxException;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.Normalizer;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/**
 * Unpacks a zip or a tar (plain or in gzip) that somebody sent. The archive is hostile: links,
 * devices, names that lead out or that some file system takes for one and the same, and what grows
 * beyond its limits are refused, before the first file is handed on. For one thread.
 */
public final class Unpacker {
  private static final int MAX_PART = 255;
  private static final int MAX_NAME = 1024;
  private static final int BUFFER = 64 * 1024;
  private static final long RATIO_COUNTS_FROM = 1 << 20;
  private static final int MAGIC = 262;

  private final Path file;
  private final Limits limits;
  private final Place root = new Place();
  private long places;
  private long files;
  private long bytes;

  /**
   * What an archive may cost.
   *
   * @param maxBytes of all its files
   * @param maxFiles entries, and folders whether they are entries or only in names
   * @param maxRatio how much larger than the archive its files may be
   */
  public record Limits(long maxBytes, int maxFiles, int maxRatio) {}

  /** Where files go. */
  public interface Sink {
    /**
     * @param name relative, without empty parts, {@code .} and {@code ..}
     */
    void folder(String name) throws IOException;

    /**
     * @param name as of {@link #folder}
     * @param size how much the content has
     * @param executable whether it is meant to be run
     */
    void file(String name, long size, boolean executable, InputStream content) throws IOException;
  }

  /** What came out. */
  public record Unpacked(long files, long bytes) {}

  /** A name of the archive, or a folder above one; it knows its own part of the name only. */
  private static final class Place {
    private final Map<String, Place> below = new HashMap<>();
    // Null until it is claimed.
    private @Nullable String name;
    private boolean folder;
  }

  /** What is done with each entry. */
  private interface Visitor {
    void visit(TarEntry.Type type, String name, long size, boolean executable, InputStream content)
        throws IOException;
  }

  private Unpacker(Path file, Limits limits) {
    this.file = file;
    this.limits = limits;
  }

  /** Nothing reaches the sink of an archive that is refused. */
  public static Unpacked unpack(Path file, Limits limits, Sink sink) throws IOException {
    var unpacker = new Unpacker(file, limits);
    try {
      unpacker.walk(unpacker::check);
    } catch (ZipException | EOFException e) {
      throw BadArchive.because("it is broken (" + e.getMessage() + ")");
    }
    unpacker.walk(
        (type, name, size, executable, content) ->
            hand(sink, type, name, size, executable, content));
    return new Unpacked(unpacker.files, unpacker.bytes);
  }

  private static void hand(
      Sink sink,
      TarEntry.Type type,
      String name,
      long size,
      boolean executable,
      InputStream content)
      throws IOException {
    String clean = String.join("/", EntryName.parts(name, BadArchive::because));
    if (clean.isEmpty()) {
      return;
    }
    if (type == TarEntry.Type.DIRECTORY) {
      sink.folder(clean);
    } else {
      sink.file(clean, size, executable, content);
    }
  }

  private enum Kind {
    ZIP,
    GZIP,
    TAR,
    OTHER
  }

  private static Kind kind(Path file) throws IOException {
    byte[] head;
    try (InputStream in = Files.newInputStream(file)) {
      head = in.readNBytes(MAGIC);
    }
    String text = new String(head, StandardCharsets.ISO_8859_1);
    if (text.startsWith("PK\3\4") || text.startsWith("PK\5\6")) {
      return Kind.ZIP;
    }
    if (text.startsWith("\u001f\u008b")) {
      return Kind.GZIP;
    }
    return text.length() == MAGIC && text.endsWith("ustar") ? Kind.TAR : Kind.OTHER;
  }

  private void walk(Visitor visitor) throws IOException {
    Kind kind = kind(file);
    switch (kind) {
      case ZIP -> walkZip(visitor);
      case GZIP, TAR -> walkTar(visitor, kind == Kind.GZIP);
      case OTHER -> throw BadArchive.because("it is neither a zip nor a tar");
    }
  }

  private void walkZip(Visitor visitor) throws IOException {
    try (ZipReader zip = ZipReader.open(file)) {
      for (ZipReader.Entry entry : zip.entries()) {
        boolean executable = (entry.mode() & 0111) != 0;
        if (entry.type() != TarEntry.Type.FILE) {
          visitor.visit(entry.type(), entry.name(), 0, false, InputStream.nullInputStream());
          continue;
        }
        try (InputStream content = zip.content(entry)) {
          visitor.visit(entry.type(), entry.name(), entry.size(), executable, content);
        }
      }
    }
  }

  private void walkTar(Visitor visitor, boolean packed) throws IOException {
    try (InputStream raw = new BufferedInputStream(Files.newInputStream(file), BUFFER);
        InputStream plain = packed ? new Bounded(new GZIPInputStream(raw, BUFFER)) : raw) {
      var tar = new TarReader(plain, BadArchive::because);
      for (TarEntry entry = tar.next(); entry != null; entry = tar.next()) {
        visitor.visit(
            entry.type(),
            entry.name(),
            entry.size(),
            (entry.mode() & 0111) != 0,
            new TarContent(tar));
      }
    }
  }

  private void check(
      TarEntry.Type type, String name, long size, boolean executable, InputStream content)
      throws IOException {
    if (++files > limits.maxFiles()) {
      throw tooMany();
    }
    switch (type) {
      case FILE, DIRECTORY -> {
        // The rest of this method.
      }
      case SYMLINK, HARDLINK -> throw refused(name, "is a link");
      case NODE -> throw refused(name, "is a device or a pipe");
    }
    List<String> parts = EntryName.parts(name, BadArchive::because);
    boolean folder = type == TarEntry.Type.DIRECTORY;
    if (parts.isEmpty() && !folder) {
      throw refused(name, "names nothing");
    }
    claim(name, parts, folder);
    weigh(size, content);
  }

  /** Takes a name and those of the folders above it; nothing else may go by them. */
  private void claim(String name, List<String> parts, boolean folder) {
    for (String part : parts) {
      if (part.getBytes(StandardCharsets.UTF_8).length > MAX_PART
          || part.indexOf('\\') >= 0
          || part.chars().anyMatch(Character::isISOControl)) {
        throw refused(name, "is no name that is good everywhere");
      }
    }
    if (name.length() > MAX_NAME) {
      throw refused(name, "is too long");
    }
    Place at = root;
    for (int i = 0; i < parts.size(); i++) {
      String part = parts.get(i);
      boolean mine = i < parts.size() - 1 || folder;
      at = below(at, name, part);
      if (at.name == null) {
        at.name = part;
        at.folder = mine;
      } else if (!at.name.equals(part)) {
        throw refused(name, "is much like another name");
      } else if (!at.folder || !mine) {
        throw refused(name, "comes twice");
      }
    }
  }

  /** Where the least careful file system would put a name; a sign that it takes for / leads on. */
  private Place below(Place from, String name, String part) {
    Place at = from;
    String key = Normalizer.normalize(part, Normalizer.Form.NFKC).toLowerCase(Locale.ROOT);
    for (String step : key.split("/", -1)) {
      if (step.length() > MAX_PART) {
        throw refused(name, "is no name that is good everywhere");
      }
      Place next = at.below.get(step);
      if (next == null) {
        // Folders that are only implied count too: each of them costs us and the sandbox.
        if (++places > limits.maxFiles()) {
          throw tooMany();
        }
        next = new Place();
        at.below.put(step, next);
      }
      at = next;
    }
    return at;
  }

  private SandboxException tooMany() {
    return BadArchive.tooLarge("more than " + limits.maxFiles() + " files and folders");
  }

  private void weigh(long size, InputStream content) throws IOException {
    if (size > limits.maxBytes() - bytes) {
      throw BadArchive.tooLarge("more than " + limits.maxBytes() + " bytes in its files");
    }
    long most = Files.size(file) * limits.maxRatio();
    byte[] buffer = new byte[BUFFER];
    for (int count = content.read(buffer); count >= 0; count = content.read(buffer)) {
      bytes += count;
      if (bytes > limits.maxBytes()) {
        throw BadArchive.tooLarge("more than " + limits.maxBytes() + " bytes in its files");
      }
      if (bytes > RATIO_COUNTS_FROM && bytes > most) {
        throw BadArchive.tooLarge(
            "files more than " + limits.maxRatio() + " times as large as itself");
      }
    }
  }

  private static RuntimeException refused(String name, String why) {
    return EntryName.refused(name, why, BadArchive::because);
  }

  /** Headers and padding count too: a tar of nothing but names is no smaller. */
  private final class Bounded extends FilterInputStream {
    private final long most =
        limits.maxBytes() + (long) limits.maxFiles() * 3 * 512 + RATIO_COUNTS_FROM;
    private long count;

    Bounded(InputStream in) {
      super(in);
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      int got = in.read(target, offset, length);
      count += Math.max(0, got);
      if (count > most) {
        throw BadArchive.tooLarge("more than " + most + " bytes, unpacked");
      }
      return got;
    }

    @Override
    public long skip(long wanted) throws IOException {
      byte[] waste = new byte[(int) Math.min(wanted, BUFFER)];
      return Math.max(0, read(waste, 0, waste.length));
    }
  }

  /** What a tar's present entry holds. */
  private static final class TarContent extends InputStream {
    private final TarReader tar;

    TarContent(TarReader tar) {
      this.tar = tar;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return tar.read(one) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      if (offset == 0 && length == target.length) {
        return tar.read(target);
      }
      byte[] piece = new byte[length];
      int count = tar.read(piece);
      if (count > 0) {
        System.arraycopy(piece, 0, target, offset, count);
      }
      return count;
    }
  }
}
