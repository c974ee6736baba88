package dev.carrel.sdk;

import java.util.AbstractList;
import java.util.List;

/** The entries of a directory, as many as the server gives at once. */
public final class FileListing extends AbstractList<FileEntry> {
  private final List<FileEntry> entries;
  private final boolean truncated;

  FileListing(List<FileEntry> entries, boolean truncated) {
    this.entries = List.copyOf(entries);
    this.truncated = truncated;
  }

  /** Whether there are more, which are not in this list. */
  public boolean truncated() {
    return truncated;
  }

  @Override
  public FileEntry get(int index) {
    return entries.get(index);
  }

  @Override
  public int size() {
    return entries.size();
  }
}
