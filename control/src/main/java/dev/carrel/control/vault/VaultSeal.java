package dev.carrel.control.vault;

import dev.carrel.control.store.DiskFailures;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collection;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/**
 * A keyed digest of all rows in a file beside the key. Each row is proof of itself alone: only this
 * tells that one was taken away, or put back as it was before a rotation. Written before the rows
 * change with both digests, and after with the new one, so that a crash leaves one that fits.
 */
final class VaultSeal {
  private final VaultKey key;
  private final Path file;

  VaultSeal(VaultKey key, Path file) {
    this.key = key;
    this.file = file;
  }

  /** Whether these are the rows that were there last. */
  boolean fits(Collection<SecretRow> rows) {
    if (!Files.exists(file)) {
      return rows.isEmpty();
    }
    try {
      return Files.readString(file, StandardCharsets.US_ASCII)
          .lines()
          .anyMatch(digest(rows)::equals);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + file, e);
    }
  }

  /** The rows are about to change. */
  void prepare(Collection<SecretRow> before, Collection<SecretRow> after) {
    write(List.of(digest(before), digest(after)));
  }

  /** They have. */
  void settle(Collection<SecretRow> rows) {
    write(List.of(digest(rows)));
  }

  private String digest(Collection<SecretRow> rows) {
    var all = new ByteArrayOutputStream();
    rows.stream()
        .sorted(Comparator.comparing(SecretRow::id))
        .forEach(
            row -> {
              all.writeBytes(row.identity());
              all.writeBytes(row.sealed());
            });
    return HexFormat.of().formatHex(key.mark(all.toByteArray()));
  }

  private void write(List<String> digests) {
    Path fresh = file.resolveSibling(file.getFileName() + ".new");
    byte[] text = (String.join("\n", digests) + "\n").getBytes(StandardCharsets.US_ASCII);
    try {
      Files.deleteIfExists(fresh);
      try (FileChannel channel =
          FileChannel.open(
              fresh,
              Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
        channel.write(java.nio.ByteBuffer.wrap(text));
        channel.force(true);
      }
      Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw DiskFailures.explained("cannot write " + file.getFileName(), e);
    }
  }
}
