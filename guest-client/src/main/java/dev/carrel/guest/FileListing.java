package dev.carrel.guest;

import java.util.List;

/**
 * Entries that were found.
 *
 * @param truncated whether there were more than the limit
 */
public record FileListing(List<FileEntry> entries, boolean truncated) {
  public FileListing {
    entries = List.copyOf(entries);
  }
}
