package dev.carrel.control.files;

import java.io.IOException;
import java.io.OutputStream;

/** A file being read. Must be closed. */
@SuppressWarnings("DoNotCallSuggester")
public final class FileDownload implements AutoCloseable {
  private final FileEntry entry;
  private final long offset;
  private final long length;

  FileDownload(FileEntry entry, long offset, long length) {
    this.entry = entry;
    this.offset = offset;
    this.length = length;
  }

  public FileEntry entry() {
    return entry;
  }

  /** Of the first byte, after the range was applied. */
  public long offset() {
    return offset;
  }

  /** Bytes that {@link #transferTo} writes unless the file shrinks meanwhile. */
  public long length() {
    return length;
  }

  /** Writes the bytes; fails rather than write fewer than {@link #length()}. */
  public void transferTo(OutputStream out) throws IOException {
    throw dev.carrel.control.telemetry.Soon.here();
  }

  @Override
  public void close() {
    throw dev.carrel.control.telemetry.Soon.here();
  }
}
