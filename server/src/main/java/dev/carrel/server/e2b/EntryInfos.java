package dev.carrel.server.e2b;

import com.google.protobuf.Timestamp;
import dev.carrel.control.files.FileEntry;
import dev.carrel.protocols.filesystem.EntryInfo;
import dev.carrel.protocols.filesystem.FileType;
import java.time.Instant;

/** A file as E2B's clients see it. */
final class EntryInfos {
  private static final String BITS = "rwxrwxrwx";
  private static final String USER = "user";

  private EntryInfos() {}

  static EntryInfo of(FileEntry entry, Home asked) {
    String path = asked.shown(entry.path());
    Instant modified = entry.modifiedAt();
    var info =
        EntryInfo.newBuilder()
            .setName(path.substring(path.lastIndexOf('/') + 1))
            .setPath(path)
            .setType(type(entry.type()))
            .setSize(entry.size())
            .setMode(entry.mode() & 0777)
            .setPermissions(permissions(entry))
            .setOwner(USER)
            .setGroup(USER)
            .setModifiedTime(
                Timestamp.newBuilder()
                    .setSeconds(modified.getEpochSecond())
                    .setNanos(modified.getNano()));
    info.putAllMetadata(entry.attributes());
    if (entry.target() != null) {
      info.setSymlinkTarget(asked.shown(entry.target()));
    }
    return info.build();
  }

  private static FileType type(FileEntry.Type type) {
    return switch (type) {
      case FILE -> FileType.FILE_TYPE_FILE;
      case DIR -> FileType.FILE_TYPE_DIRECTORY;
      case LINK -> FileType.FILE_TYPE_SYMLINK;
      case OTHER -> FileType.FILE_TYPE_UNSPECIFIED;
    };
  }

  private static String permissions(FileEntry entry) {
    var text =
        new StringBuilder(
            switch (entry.type()) {
              case DIR -> "d";
              case LINK -> "l";
              case FILE, OTHER -> "-";
            });
    for (int i = 0; i < BITS.length(); i++) {
      boolean set = (entry.mode() >> (BITS.length() - 1 - i) & 1) == 1;
      text.append(set ? BITS.charAt(i) : '-');
    }
    return text.toString();
  }
}
