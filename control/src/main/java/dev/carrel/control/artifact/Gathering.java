package dev.carrel.control.artifact;

import dev.carrel.control.artifact.Signed.Skipped;
import dev.carrel.control.audit.RequestDigest;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.MediaType;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.guest.FileEntry;
import dev.carrel.guest.FileListing;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * One look at files of a sandbox, which may be hostile: names, sizes and what a path leads to can
 * change while it looks. What counts is the bytes as they came. For one thread.
 */
final class Gathering {
  private static final int MAX_DEPTH = 32;
  private static final int MAX_SKIPPED = 100;
  private static final int MAX_NAME = 512;

  private final RunningSandbox sandbox;
  private final ArtifactSettings settings;
  private final List<Found> found = new ArrayList<>();
  private final List<Skipped> skipped = new ArrayList<>();
  private final Set<String> seen = new HashSet<>();
  private Predicate<FileEntry> unwanted = _ -> false;
  private final long began = System.nanoTime();
  private long total;
  private boolean truncated;

  Gathering(RunningSandbox sandbox, ArtifactSettings settings) {
    this.sandbox = sandbox;
    this.settings = settings;
  }

  List<Found> found() {
    return found;
  }

  List<Skipped> skipped() {
    return skipped;
  }

  boolean truncated() {
    return truncated;
  }

  /** As {@link #add}, without what is known already; nothing when there is no such path. */
  void addUnless(Predicate<FileEntry> known, String path) {
    try {
      sandbox.guest().files().statLink(path);
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.FILE_NOT_FOUND) {
        return;
      }
      throw e;
    }
    unwanted = known;
    add(path);
  }

  /**
   * Takes a file, or the files of a folder.
   *
   * @param path relative to the workspace
   */
  void add(String path) {
    if (isOver()) {
      return;
    }
    try {
      FileEntry entry = sandbox.guest().files().statLink(path);
      if (entry.type() == FileEntry.Type.DIRECTORY) {
        FileListing listing = sandbox.guest().files().list(path, MAX_DEPTH, settings.maxFiles());
        truncated |= listing.truncated();
        listing.entries().stream()
            .filter(inside -> inside.type() != FileEntry.Type.DIRECTORY)
            .forEach(this::take);
      } else {
        take(entry);
      }
    } catch (SandboxException e) {
      skip(path, e.message());
    }
  }

  /** A sandbox may be slow, or make itself so: then the rest is left out, and that is told. */
  private boolean isOver() {
    boolean over = System.nanoTime() - began >= settings.maxTime().toNanos();
    truncated |= over;
    return over;
  }

  /** Relative to the workspace. */
  static String path(FileEntry entry) {
    return entry.path().startsWith("./") ? entry.path().substring(2) : entry.path();
  }

  private void take(FileEntry entry) {
    String path = path(entry);
    if (isOver() || !seen.add(path) || unwanted.test(entry)) {
      return;
    }
    if (!entry.exact()) {
      skip(path, "its name is not UTF-8");
    } else if (entry.type() != FileEntry.Type.FILE) {
      // A link has no bytes of its own; who wants those of its target names that.
      skip(path, "not a regular file");
    } else if (!sandbox.redaction().text(path).equals(path)) {
      skip(path, "its name holds a secret");
    } else if (found.size() >= settings.maxFiles()) {
      truncated = true;
    } else {
      read(path, entry);
    }
  }

  private void read(String path, FileEntry seen) {
    MessageDigest sha256 = RequestDigest.sha256();
    try (FileDownload download = FileDownload.whole(sandbox, path, seen)) {
      long size = download.length();
      long most = Math.min(settings.maxFile().bytes(), settings.maxTotal().bytes() - total);
      if (size > most) {
        skip(path, "%d bytes are more than the %d that are signed".formatted(size, most));
        return;
      }
      total += size;
      download.transferTo(new DigestOutputStream(OutputStream.nullOutputStream(), sha256));
      found.add(
          new Found(path, HexFormat.of().formatHex(sha256.digest()), size, MediaType.bare(path)));
    } catch (SandboxException e) {
      skip(path, e.message());
    } catch (IOException e) {
      throw new UncheckedIOException("nothing was written", e);
    }
  }

  private void skip(String path, String reason) {
    if (skipped.size() < MAX_SKIPPED) {
      skipped.add(
          new Skipped(
              Text.printable(sandbox.redaction().text(path), MAX_NAME),
              Text.printable(sandbox.redaction().text(reason), MAX_NAME)));
    } else {
      truncated = true;
    }
  }

  /** A file that was read to its end. */
  record Found(String path, String sha256, long size, String mime) {}
}
