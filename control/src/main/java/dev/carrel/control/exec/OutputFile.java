package dev.carrel.control.exec;

import dev.carrel.spi.ExecEvent.Output;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Output blocks in a file, with an index in memory. One thread appends; the index is guarded by the
 * log that owns this. Reading opens the file anew each time, so a forgotten reader holds nothing.
 */
final class OutputFile {
  // Small blocks become one place in the index up to this; who reads one reads all of its place.
  private static final int MERGED = 16 * 1024;

  private final Path path;
  private final Opening opening;
  private final List<Extent> extents = new ArrayList<>();
  private @Nullable FileChannel channel;
  private long size;
  private boolean torn;

  OutputFile(Path path) {
    this(path, OutputFile::openPrivate);
  }

  OutputFile(Path path, Opening opening) {
    this.path = path;
    this.opening = opening;
  }

  /** How a file comes to be written. */
  interface Opening {
    FileChannel open(Path path) throws IOException;
  }

  /** Finds the blocks of a file that an earlier process wrote; a torn record at its end is cut. */
  static OutputFile open(Path path) throws IOException {
    var file = new OutputFile(path);
    long position = 0;
    long offset = 0;
    long extentPosition = 0;
    long extentOffset = 0;
    long length = Files.size(path);
    try (var in =
        new DataInputStream(
            new BufferedInputStream(Files.newInputStream(path), OutputBlock.CAPACITY))) {
      while (position + OutputBlock.HEADER <= length) {
        int header = in.readInt();
        int size = OutputBlock.length(header);
        boolean gap = OutputBlock.kind(header) == OutputBlock.KIND_GAP;
        long next = position + OutputBlock.HEADER + (gap ? 0 : size);
        if (next > length) {
          break;
        }
        if (!gap) {
          in.skipNBytes(size);
        }
        boolean full = next - extentPosition > OutputBlock.CAPACITY;
        if ((gap || full) && position > extentPosition) {
          file.extents.add(new Extent(extentOffset, offset, extentPosition, position));
          extentPosition = position;
          extentOffset = offset;
        }
        position = next;
        offset += size;
        if (gap) {
          extentPosition = position;
          extentOffset = offset;
        }
      }
    } catch (EOFException e) {
      // The file shrank under us: what was read so far is what there is.
      length = position;
    }
    if (position > extentPosition) {
      file.extents.add(new Extent(extentOffset, offset, extentPosition, position));
    }
    file.size = position;
    if (position < Files.size(path)) {
      try (var truncated = FileChannel.open(path, StandardOpenOption.WRITE)) {
        truncated.truncate(position);
      }
    }
    return file;
  }

  /**
   * Writes a block; its extent becomes visible with {@link #add}. When it fails, as on a full disk,
   * nothing of the block stays: what came after half of one would be read as something else.
   */
  Extent write(OutputBlock block) throws IOException {
    if (torn) {
      throw new IOException(path + " ends with part of a block");
    }
    FileChannel out = channel();
    long whole = size;
    try {
      return append(out, block);
    } catch (IOException | RuntimeException e) {
      undo(out, whole, e);
      throw e;
    }
  }

  private Extent append(FileChannel out, OutputBlock block) throws IOException {
    long last = extents.isEmpty() ? 0 : extents.getLast().to();
    for (long gap = block.from() - last; gap > 0; ) {
      int part = (int) Math.min(gap, 1 << 29);
      put(
          out,
          ByteBuffer.allocate(OutputBlock.HEADER)
              .putInt(OutputBlock.header(OutputBlock.KIND_GAP, part))
              .flip());
      gap -= part;
    }
    long begin = size;
    put(out, block.stored());
    return new Extent(block.from(), block.to(), begin, size);
  }

  private void put(FileChannel out, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      size += out.write(bytes);
    }
  }

  private void undo(FileChannel out, long whole, Exception cause) {
    torn = true;
    try {
      out.truncate(whole);
      out.position(whole);
      size = whole;
      torn = false;
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  void add(Extent extent) {
    Extent last = extents.isEmpty() ? null : extents.getLast();
    // Blocks are small where there is no room for large ones, and the index is to be small too.
    if (last != null
        && last.to() == extent.from()
        && last.end() == extent.begin()
        && extent.end() - last.begin() <= MERGED) {
      extents.set(
          extents.size() - 1, new Extent(last.from(), extent.to(), last.begin(), extent.end()));
    } else {
      extents.add(extent);
    }
  }

  /** The first extent that ends after this offset. */
  @Nullable Extent find(long offset) {
    int low = 0;
    int high = extents.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (extents.get(middle).to() > offset) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low < extents.size() ? extents.get(low) : null;
  }

  long end() {
    return extents.isEmpty() ? 0 : extents.getLast().to();
  }

  long size() {
    return size;
  }

  List<Output> read(Extent extent, long offset, int max) throws IOException {
    ByteBuffer records = ByteBuffer.allocate((int) (extent.end() - extent.begin()));
    try (FileChannel in = FileChannel.open(path, StandardOpenOption.READ)) {
      while (records.hasRemaining()) {
        if (in.read(records, extent.begin() + records.position()) < 0) {
          throw new EOFException(path + " is shorter than it was");
        }
      }
    }
    return OutputBlock.decode(records.flip(), extent.from(), offset, max);
  }

  void close() throws IOException {
    if (channel != null) {
      channel.close();
    }
  }

  private FileChannel channel() throws IOException {
    if (channel == null) {
      Files.createDirectories(path.getParent());
      channel = opening.open(path);
      channel.position(size);
    }
    return channel;
  }

  private static FileChannel openPrivate(Path path) throws IOException {
    return FileChannel.open(
        path,
        Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE),
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
  }

  /** Output offsets {@code from} to {@code to} are in the bytes {@code begin} to {@code end}. */
  record Extent(long from, long to, long begin, long end) {}
}
