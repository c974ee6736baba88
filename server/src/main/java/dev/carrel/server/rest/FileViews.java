package dev.carrel.server.rest;

import dev.carrel.control.files.FileEntry;
import dev.carrel.control.files.FileEvents;
import dev.carrel.control.files.FileListing;
import dev.carrel.control.files.Grep;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Files on the wire. */
final class FileViews {
  private FileViews() {}

  record Entry(
      String name,
      String path,
      String type,
      long size,
      String mode,
      String modifiedAt,
      @Nullable String target,
      String etag) {
    static Entry of(FileEntry entry) {
      return new Entry(
          entry.name(),
          entry.path(),
          entry.type().wireName(),
          entry.size(),
          String.format(Locale.ROOT, "%04o", entry.mode()),
          entry.modifiedAt().toString(),
          entry.target(),
          ETags.quoted(entry));
    }

    static List<Entry> of(FileListing listing) {
      return listing.entries().stream().map(Entry::of).toList();
    }
  }

  record GlobResult(List<Entry> entries, boolean truncated) {}

  record GrepResult(List<Match> matches, boolean truncated, long files, long matchCount) {
    static GrepResult of(Grep.Result result) {
      return new GrepResult(
          result.matches().stream()
              .map(
                  match ->
                      new Match(
                          match.path(), match.line(), match.text(), match.context(), match.cut()))
              .toList(),
          result.truncated(),
          result.files(),
          result.count());
    }
  }

  record Match(String path, long line, String text, boolean context, boolean cut) {}

  record Watching(String path) {}

  record Change(String path, String kind, boolean directory) {
    static Change of(FileEvents.FileEvent event) {
      return new Change(event.path(), ExecViews.wireName(event.kind()), event.directory());
    }
  }
}
