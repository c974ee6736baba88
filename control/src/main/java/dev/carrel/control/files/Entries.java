package dev.carrel.control.files;

import dev.carrel.control.redact.Redaction;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;

/** From the guest's words to ours. */
final class Entries {
  private Entries() {}

  static FileEntry of(dev.carrel.guest.FileEntry entry, Redaction redaction) {
    String path = redaction.text(SandboxPath.shown(entry.path()));
    return new FileEntry(
        path,
        SandboxPath.name(path),
        type(entry.type()),
        entry.size(),
        entry.mode(),
        entry.modified(),
        redaction.textOrNull(entry.target()),
        etag(entry.modified(), entry.size(), entry.inode()),
        attributes(entry, redaction));
  }

  static FileListing of(dev.carrel.guest.FileListing listing, Redaction redaction) {
    return new FileListing(
        listing.entries().stream().map(entry -> of(entry, redaction)).toList(),
        listing.truncated());
  }

  private static Map<String, String> attributes(
      dev.carrel.guest.FileEntry entry, Redaction redaction) {
    var shown = new HashMap<String, String>();
    entry
        .attributes()
        .forEach((key, value) -> shown.put(redaction.text(key), redaction.text(value)));
    return shown;
  }

  private static FileEntry.Type type(dev.carrel.guest.FileEntry.Type type) {
    return switch (type) {
      case FILE -> FileEntry.Type.FILE;
      case DIRECTORY -> FileEntry.Type.DIR;
      case LINK -> FileEntry.Type.LINK;
      case PIPE, SOCKET, BLOCK_DEVICE, CHARACTER_DEVICE -> FileEntry.Type.OTHER;
    };
  }

  // A replaced file has another inode, one written in place another time or size.
  private static String etag(Instant modified, long size, long inode) {
    return "\"%x-%x-%x-%x\"".formatted(inode, size, modified.getEpochSecond(), modified.getNano());
  }
}
