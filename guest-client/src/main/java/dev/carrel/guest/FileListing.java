package dev.carrel.guest;

import java.util.List;

/**
 * Entries that were found.
 *
 * @param truncated whether there were more than the limit
 * @param unreadable folders that the sandbox's user may not look into
 */
public record FileListing(List<FileEntry> entries, boolean truncated, long unreadable) {
  public FileListing {
    entries = List.copyOf(entries);
  }
}
