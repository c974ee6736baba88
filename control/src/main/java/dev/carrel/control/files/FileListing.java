package dev.carrel.control.files;

import java.util.List;

/** Entries up to the asked limit. */
public record FileListing(List<FileEntry> entries, boolean truncated) {
  public FileListing {
    entries = List.copyOf(entries);
  }
}
