package dev.carrel.control.exec;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file on a disk with little room: a write that does not fit is done in part, as on a real one.
 */
final class FullDisk extends FileChannel {
  private final FileChannel file;
  private long room;
  private boolean broken;

  FullDisk(Path path, long room) throws IOException {
    this.file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    this.room = room;
  }

  void free(long bytes) {
    room += bytes;
  }

  /** From now on nothing can be cut off either. */
  void refuseToTruncate() {
    broken = true;
  }

  @Override
  public int write(ByteBuffer source) throws IOException {
    if (room == 0) {
      throw new IOException("No space left on device");
    }
    int count = (int) Math.min(room, source.remaining());
    file.write(source.slice(source.position(), count));
    source.position(source.position() + count);
    room -= count;
    return count;
  }

  @Override
  public FileChannel truncate(long size) throws IOException {
    if (broken) {
      throw new IOException("Input/output error");
    }
    room += file.size() - size;
    file.truncate(size);
    return this;
  }

  @Override
  public long position() throws IOException {
    return file.position();
  }

  @Override
  public FileChannel position(long position) throws IOException {
    file.position(position);
    return this;
  }

  @Override
  public long size() throws IOException {
    return file.size();
  }

  @Override
  protected void implCloseChannel() throws IOException {
    file.close();
  }

  @Override
  public int read(ByteBuffer target) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long read(ByteBuffer[] targets, int offset, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int read(ByteBuffer target, long position) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long write(ByteBuffer[] sources, int offset, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int write(ByteBuffer source, long position) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void force(boolean metaData) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long transferTo(long position, long count, WritableByteChannel target) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long transferFrom(ReadableByteChannel source, long position, long count) {
    throw new UnsupportedOperationException();
  }

  @Override
  public MappedByteBuffer map(MapMode mode, long position, long size) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileLock lock(long position, long size, boolean shared) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileLock tryLock(long position, long size, boolean shared) {
    throw new UnsupportedOperationException();
  }
}
