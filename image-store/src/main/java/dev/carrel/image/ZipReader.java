package dev.carrel.image;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;

/**
 * Reads a zip of unknown origin by its directory. Parts that lie over each other, names that differ
 * from the directory's, and whatever only some readers understand (encryption, 64-bit sizes,
 * several discs) are refused: no two readers may see different things in it. For one thread.
 */
final class ZipReader implements AutoCloseable {
  static final int MAX_ENTRIES = 0xfffe;

  private static final int MAX_DIRECTORY = 32 << 20;
  private static final int END_SIGNATURE = 0x06054b50;
  private static final int END_SIZE = 22;
  private static final int CENTRAL_SIGNATURE = 0x02014b50;
  private static final int CENTRAL_SIZE = 46;
  private static final int LOCAL_SIGNATURE = 0x04034b50;
  private static final int LOCAL_SIZE = 30;
  private static final int MAX_COMMENT = 0xffff;
  private static final int ENCRYPTED = 0x2041;
  private static final int STORED = 0;
  private static final int DEFLATED = 8;
  private static final int MADE_ON_UNIX = 3;
  private static final int KIND = 0170000;
  private static final int KIND_FILE = 0100000;
  private static final int KIND_FOLDER = 0040000;
  private static final int KIND_LINK = 0120000;
  private static final int BUFFER = 64 * 1024;

  private final FileChannel channel;
  private final List<Entry> entries = new ArrayList<>();

  /**
   * One entry, as the directory says.
   *
   * @param name not checked in any way
   */
  record Entry(
      TarEntry.Type type,
      String name,
      int mode,
      long size,
      long packed,
      int method,
      long crc,
      long offset) {}

  private ZipReader(FileChannel channel) {
    this.channel = channel;
  }

  /** Reads the directory. */
  static ZipReader open(Path file) throws IOException {
    var reader = new ZipReader(FileChannel.open(file, StandardOpenOption.READ));
    try {
      reader.index();
      return reader;
    } catch (IOException | RuntimeException e) {
      reader.close();
      throw e;
    }
  }

  List<Entry> entries() {
    return entries;
  }

  private void index() throws IOException {
    ByteBuffer end = end();
    int count = end.getShort(10) & 0xffff;
    long size = end.getInt(12) & 0xffffffffL;
    long offset = end.getInt(16) & 0xffffffffL;
    if (count > MAX_ENTRIES || end.getShort(4) != 0 || end.getShort(6) != 0) {
      throw BadArchive.because("it is of a kind with 64-bit sizes or several parts");
    }
    if (offset + size > channel.size() || size > MAX_DIRECTORY) {
      throw BadArchive.because("its directory lies outside of it, or is too large");
    }
    ByteBuffer directory = read(offset, (int) size);
    for (int i = 0; i < count; i++) {
      entries.add(entry(directory));
    }
    refuseOverlaps(offset);
  }

  private ByteBuffer end() throws IOException {
    int tail = (int) Math.min(channel.size(), END_SIZE + MAX_COMMENT);
    ByteBuffer bytes = read(channel.size() - tail, tail);
    for (int at = tail - END_SIZE; at >= 0; at--) {
      // The comment must reach to the end exactly: one directory, for every reader.
      if (bytes.getInt(at) == END_SIGNATURE
          && (bytes.getShort(at + 20) & 0xffff) == tail - at - END_SIZE) {
        return bytes.slice(at, END_SIZE).order(ByteOrder.LITTLE_ENDIAN);
      }
    }
    throw BadArchive.because("it is no zip, or a broken one");
  }

  private Entry entry(ByteBuffer directory) {
    if (directory.remaining() < CENTRAL_SIZE
        || directory.getInt(directory.position()) != CENTRAL_SIGNATURE) {
      throw BadArchive.because("its directory is broken");
    }
    int at = directory.position();
    int nameLength = directory.getShort(at + 28) & 0xffff;
    int rest = (directory.getShort(at + 30) & 0xffff) + (directory.getShort(at + 32) & 0xffff);
    if (directory.remaining() - CENTRAL_SIZE < nameLength + rest) {
      throw BadArchive.because("its directory is broken");
    }
    byte[] name = new byte[nameLength];
    directory.get(at + CENTRAL_SIZE, name);
    directory.position(at + CENTRAL_SIZE + nameLength + rest);
    int method = directory.getShort(at + 10) & 0xffff;
    long packed = directory.getInt(at + 20) & 0xffffffffL;
    long size = directory.getInt(at + 24) & 0xffffffffL;
    if ((directory.getShort(at + 8) & ENCRYPTED) != 0) {
      throw BadArchive.because("it is encrypted");
    }
    if (method != STORED && method != DEFLATED) {
      throw BadArchive.because("it is packed in a way that is not supported (" + method + ")");
    }
    if (size == 0xffffffffL || packed == 0xffffffffL || (method == STORED && size != packed)) {
      throw BadArchive.because("a size in its directory cannot be");
    }
    String text = decode(name);
    boolean unix = (directory.get(at + 5) & 0xff) == MADE_ON_UNIX;
    int mode = unix ? directory.getInt(at + 38) >>> 16 : 0;
    return new Entry(
        type(mode, text),
        text,
        mode & 0777,
        size,
        packed,
        method,
        directory.getInt(at + 16) & 0xffffffffL,
        directory.getInt(at + 42) & 0xffffffffL);
  }

  private static TarEntry.Type type(int mode, String name) {
    return switch (mode & KIND) {
      case 0, KIND_FILE -> name.endsWith("/") ? TarEntry.Type.DIRECTORY : TarEntry.Type.FILE;
      case KIND_FOLDER -> TarEntry.Type.DIRECTORY;
      case KIND_LINK -> TarEntry.Type.SYMLINK;
      default -> TarEntry.Type.NODE;
    };
  }

  private static String decode(byte[] name) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(name)).toString();
    } catch (CharacterCodingException e) {
      throw BadArchive.because("a name in it is not UTF-8");
    }
  }

  /** What unpacks to petabytes does so by naming the same bytes again and again. */
  private void refuseOverlaps(long directory) {
    long end = 0;
    for (Entry entry : entries.stream().sorted(Comparator.comparingLong(Entry::offset)).toList()) {
      if (entry.offset() < end) {
        throw BadArchive.because("parts of it lie over each other");
      }
      end = entry.offset() + LOCAL_SIZE + entry.packed();
    }
    if (end > directory) {
      throw BadArchive.because("parts of it lie over its directory");
    }
  }

  /** The content of an entry; reading it to its end checks it. */
  InputStream content(Entry entry) throws IOException {
    ByteBuffer local = read(entry.offset(), LOCAL_SIZE);
    if (local.getInt(0) != LOCAL_SIGNATURE) {
      throw BadArchive.because("an entry is not where its directory says");
    }
    int nameLength = local.getShort(26) & 0xffff;
    byte[] name = new byte[nameLength];
    read(entry.offset() + LOCAL_SIZE, nameLength).get(name);
    if (!decode(name).equals(entry.name())) {
      throw BadArchive.because("an entry has another name than its directory says");
    }
    long start = entry.offset() + LOCAL_SIZE + nameLength + (local.getShort(28) & 0xffff);
    if (start + entry.packed() > channel.size()) {
      throw BadArchive.because("it ends within a file");
    }
    InputStream raw = new BufferedInputStream(new Slice(channel, start, entry.packed()), BUFFER);
    InputStream plain = entry.method() == STORED ? raw : new Inflated(raw, new Inflater(true));
    return new Checked(plain, entry);
  }

  private ByteBuffer read(long offset, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    while (bytes.hasRemaining()) {
      if (channel.read(bytes, offset + bytes.position()) < 0) {
        throw BadArchive.because("it ends too early");
      }
    }
    return bytes.flip();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  /** Gives its inflater back. */
  private static final class Inflated extends InflaterInputStream {
    Inflated(InputStream in, Inflater inflater) {
      super(in, inflater, BUFFER);
    }

    @Override
    public void close() throws IOException {
      inf.end();
      super.close();
    }
  }

  /** Holds the content to what the directory says of it. */
  private static final class Checked extends CheckedInputStream {
    private final Entry entry;
    private long count;

    Checked(InputStream in, Entry entry) {
      super(in, new CRC32());
      this.entry = entry;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      int got = super.read(bytes, offset, length);
      count += Math.max(0, got);
      if (count > entry.size()
          || (got < 0 && (count != entry.size() || getChecksum().getValue() != entry.crc()))) {
        throw BadArchive.because("a file in it is not as its directory says");
      }
      return got;
    }
  }
}
