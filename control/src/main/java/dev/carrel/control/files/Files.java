package dev.carrel.control.files;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.redact.Redaction;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.guest.FileUpload;
import dev.carrel.guest.FileWrite;
import dev.carrel.guest.GrepRequest;
import dev.carrel.guest.GrepResult;
import dev.carrel.guest.GuestFiles;
import dev.carrel.guest.OnExisting;
import dev.carrel.guest.RemoveOption;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Map;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Files of sandboxes. The guest does the work inside; a relative path starts at /workspace, and
 * {@code ..}, NUL and over-long paths are refused with the field {@code path}. Safe for many
 * threads.
 */
public final class Files {
  private static final int BUFFER = 64 * 1024;

  private final Sandboxes sandboxes;
  private final FileSettings settings;
  private final Audit audit;
  private final boolean attributes;

  public Files(Sandboxes sandboxes, FileSettings settings, Audit audit) {
    this(sandboxes, settings, audit, false);
  }

  private Files(Sandboxes sandboxes, FileSettings settings, Audit audit, boolean attributes) {
    this.sandboxes = sandboxes;
    this.settings = settings;
    this.audit = audit;
    this.attributes = attributes;
  }

  /** The same files, told with their attributes where they are looked at, listed or moved. */
  public Files withAttributes() {
    return new Files(sandboxes, settings, audit, true);
  }

  public FileEntry stat(Caller caller, SandboxId sandbox, String path) {
    String inside = SandboxPath.of("path", path).inside();
    return ask(caller, sandbox, (files, out) -> Entries.of(files.stat(inside), out));
  }

  /**
   * As {@link #stat}, and of a link where it leads: its own type if that is nowhere, round in a
   * circle, or where nobody inside may look.
   */
  public FileEntry statLink(Caller caller, SandboxId sandbox, String path) {
    String inside = SandboxPath.of("path", path).inside();
    return ask(
        caller,
        sandbox,
        (files, out) -> {
          FileEntry link = Entries.of(files.statLink(inside), out);
          if (link.type() != FileEntry.Type.LINK) {
            return link;
          }
          try {
            return Entries.of(files.stat(inside), out).withTarget(link.target());
          } catch (SandboxException e) {
            return switch (e.code()) {
              case FILE_NOT_FOUND, NOT_A_DIRECTORY, PERMISSION_DENIED, INVALID_INPUT -> link;
              default -> throw e;
            };
          }
        });
  }

  /**
   * For commands that are to run in a folder.
   *
   * @throws SandboxException {@code INVALID_INPUT} when there is none, and no link to one
   */
  public void requireFolder(Caller caller, SandboxId sandbox, String path) {
    try {
      if (stat(caller, sandbox, path).type() == FileEntry.Type.DIR) {
        return;
      }
    } catch (SandboxException e) {
      if (e.code() != ErrorCode.FILE_NOT_FOUND && e.code() != ErrorCode.NOT_A_DIRECTORY) {
        throw e;
      }
    }
    throw SandboxException.invalid("cwd", "working directory does not exist: " + path);
  }

  /**
   * What is in a folder, down to a depth.
   *
   * @param limit on entries; the settings' own bound holds beside it, also for {@link #glob} and
   *     {@link #grep}
   */
  public FileListing list(Caller caller, SandboxId sandbox, String path, int depth, int limit) {
    String inside = SandboxPath.of("path", path).inside();
    int most = most(limit, settings.maxEntries());
    return ask(caller, sandbox, (files, out) -> Entries.of(files.list(inside, depth, most), out));
  }

  /** All below a folder, to go elsewhere: bounded by how much may, not as a list for a reader. */
  public FileListing tree(Caller caller, SandboxId sandbox, String path, int limit) {
    String inside = SandboxPath.of("path", path).inside();
    int most = most(limit, FileSettings.MOST);
    return ask(
        caller,
        sandbox,
        (files, out) -> Entries.of(files.list(inside, GuestFiles.MAX_DEPTH, most), out));
  }

  /**
   * Begins to read a file.
   *
   * @param range null: all of it
   */
  public FileDownload read(
      Caller caller, SandboxId sandbox, String path, @Nullable ByteRange range) {
    String inside = SandboxPath.of("path", path).inside();
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    try {
      GuestFiles files = running.guest().files();
      if (range == null) {
        var source = files.read(inside);
        FileEntry entry = Entries.of(source.entry(), running.redaction());
        noteLater(caller, running, "read", entry, Map.of("size", String.valueOf(entry.size())));
        return new FileDownload(running, source, entry, 0, entry.size(), 0);
      }
      ByteRange.Slice slice = range.within(files.stat(inside).size());
      // A part may begin or end inside a secret, which is only known with what is beside it.
      long margin = Math.max(0, running.redaction().longest() - 1L);
      long before = Math.min(slice.offset(), margin);
      var source = files.read(inside, slice.offset() - before, before + slice.length() + margin);
      FileEntry entry = Entries.of(source.entry(), running.redaction());
      // Changed between the two looks: what is announced must be what can be sent.
      long length = Math.clamp(entry.size() - slice.offset(), 0, slice.length());
      noteLater(
          caller,
          running,
          "read",
          entry,
          Map.of("offset", String.valueOf(slice.offset()), "length", String.valueOf(length)));
      return new FileDownload(running, source, entry, slice.offset(), length, before);
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  /** Streams {@code body} into the file; readers see the old file or the new one. */
  public FileEntry write(
      Caller caller, SandboxId sandbox, String path, InputStream body, WriteFile options)
      throws IOException {
    String inside = SandboxPath.of("path", path).inside();
    long max = settings.maxUpload().bytes();
    if (options.size() != null && options.size() > max) {
      throw tooLarge(max);
    }
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    try (RunningSandbox.Use _ = running.use()) {
      GuestFiles files = running.guest().files();
      if (options.ifMatch() != null) {
        requireEtag(files, inside, options.ifMatch(), running.redaction());
      }
      FileWrite write =
          FileWrite.to(inside)
              .withMode(options.mode())
              .withAppend(options.append())
              .withIfAbsent(options.ifAbsent())
              .withAttributes(options.attributes());
      if (options.size() != null) {
        write = write.withSize(options.size());
      }
      try (FileUpload upload = files.write(write)) {
        copy(body, upload, max, options.size(), running);
        // The body may have taken its time, and somebody else written meanwhile. Appended bytes are
        // in the file already, and have changed its ETag themselves.
        if (options.ifMatch() != null && !options.append()) {
          requireEtag(files, inside, options.ifMatch(), running.redaction());
        }
        FileEntry written = Entries.of(upload.commit(), running.redaction());
        note(
            caller,
            running,
            options.append() ? "append" : "write",
            Map.of("size", String.valueOf(written.size())),
            written.path());
        return written;
      }
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  public FileEntry mkdir(Caller caller, SandboxId sandbox, String path, boolean parents) {
    String inside = SandboxPath.of("path", path).inside();
    return change(
        caller,
        sandbox,
        "mkdir",
        Map.of(),
        inside,
        (files, out) -> Entries.of(parents ? files.mkdir(inside) : files.mkdirOnly(inside), out));
  }

  public FileEntry move(
      Caller caller, SandboxId sandbox, String from, String to, boolean overwrite) {
    String source = SandboxPath.of("from", from).inside();
    String target = SandboxPath.of("to", to).inside();
    return change(
        caller,
        sandbox,
        "move",
        Map.of("to", target),
        source,
        (files, out) -> Entries.of(files.move(source, target, existing(overwrite)), out));
  }

  public FileEntry copy(
      Caller caller, SandboxId sandbox, String from, String to, boolean overwrite) {
    String source = SandboxPath.of("from", from).inside();
    String target = SandboxPath.of("to", to).inside();
    return change(
        caller,
        sandbox,
        "copy",
        Map.of("to", target),
        source,
        (files, out) -> Entries.of(files.copy(source, target, existing(overwrite)), out));
  }

  /** How many files and folders were removed. */
  public long remove(
      Caller caller, SandboxId sandbox, String path, boolean recursive, boolean missingOk) {
    String inside = SandboxPath.of("path", path).inside();
    var options = new ArrayList<RemoveOption>();
    if (recursive) {
      options.add(RemoveOption.RECURSIVE);
    }
    if (missingOk) {
      options.add(RemoveOption.MISSING_OK);
    }
    return change(
        caller,
        sandbox,
        "remove",
        Map.of("recursive", String.valueOf(recursive)),
        inside,
        (files, _) -> files.remove(inside, options.toArray(RemoveOption[]::new)));
  }

  /** Newest first. */
  public FileListing glob(
      Caller caller, SandboxId sandbox, String path, String pattern, int limit, boolean hidden) {
    return glob(caller, sandbox, path, pattern, limit, hidden, false);
  }

  /** Finds by name; with {@code gitignore} what .gitignore files name is left out. */
  public FileListing glob(
      Caller caller,
      SandboxId sandbox,
      String path,
      String pattern,
      int limit,
      boolean hidden,
      boolean gitignore) {
    String inside = SandboxPath.of("path", path).inside();
    int most = most(limit, settings.maxEntries());
    return ask(
        caller,
        sandbox,
        (files, out) -> Entries.of(files.glob(inside, pattern, most, hidden, gitignore), out));
  }

  public Grep.Result grep(Caller caller, SandboxId sandbox, Grep grep) {
    GrepRequest request =
        GrepRequest.of(SandboxPath.of("path", grep.path()).inside(), grep.pattern())
            .withGlob(grep.glob())
            .withIgnoreCase(grep.ignoreCase())
            .withFixed(grep.fixed())
            .withHidden(grep.hidden())
            .withGitignore(grep.gitignore())
            .withContext(grep.context())
            .withLimit(most(grep.limit(), settings.maxMatches()));
    return ask(caller, sandbox, (files, out) -> found(files.grep(request), out));
  }

  private static Grep.Result found(GrepResult result, Redaction out) {
    return new Grep.Result(
        result.lines().stream()
            .map(
                line ->
                    new Grep.Match(
                        out.text(SandboxPath.shown(line.path())),
                        line.number(),
                        line.cut() ? out.cutText(line.text()) : out.text(line.text()),
                        line.context(),
                        line.cut()))
            .toList(),
        result.truncated(),
        result.files(),
        result.matches());
  }

  /** Watches a directory; {@code recursive} means all below it too. */
  public FileEvents watch(Caller caller, SandboxId sandbox, String path, boolean recursive) {
    SandboxPath folder = SandboxPath.of("path", path);
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    try {
      return new FileEvents(
          running.guest().files().watch(folder.inside()),
          running,
          changed -> recursive || changed.lastIndexOf('/') <= folder.absolute().length());
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  /** Writes an archive of a directory; links and whatever is no file are left out. */
  public void pack(
      Caller caller, SandboxId sandbox, String path, ArchiveFormat format, OutputStream out)
      throws IOException {
    String inside = SandboxPath.of("path", path).inside();
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    try (RunningSandbox.Use _ = running.use()) {
      GuestFiles files = running.guest().files();
      FileEntry folder = Entries.of(files.stat(inside), running.redaction());
      // Before anything leaves: also who hangs up in the middle has read what came until then.
      noteLater(caller, running, "pack", folder, Map.of());
      long bytes = new Archive(files, settings, running.redaction()).write(inside, format, out);
      running.countDownload(bytes);
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  /** Does something to a file, and answers when that is on record. */
  private <T> T change(
      Caller caller,
      SandboxId sandbox,
      String verb,
      Map<String, String> details,
      String path,
      BiFunction<GuestFiles, Redaction, T> work) {
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    try {
      T done = work.apply(files(running), running.redaction());
      note(caller, running, verb, details, path);
      return done;
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  private void note(
      Caller caller,
      RunningSandbox running,
      String verb,
      Map<String, String> details,
      String path) {
    audit.write(
        AuditEntry.of(Who.in(running, caller), "file." + verb, Outcome.OK)
            .withSubject(running.redaction().text(path))
            .withDetails(details));
  }

  /** Nothing changes by it: nobody has to wait for the record. */
  private void noteLater(
      Caller caller,
      RunningSandbox running,
      String verb,
      FileEntry entry,
      Map<String, String> details) {
    audit.later(
        AuditEntry.of(Who.in(running, caller), "file." + verb, Outcome.OK)
            .withSubject(entry.path())
            .withDetails(details));
  }

  private <T> T ask(
      Caller caller, SandboxId sandbox, BiFunction<GuestFiles, Redaction, T> question) {
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    try {
      return question.apply(files(running), running.redaction());
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  private static void copy(
      InputStream body,
      FileUpload upload,
      long max,
      @Nullable Long expected,
      RunningSandbox running)
      throws IOException {
    byte[] buffer = new byte[BUFFER];
    long total = 0;
    for (int count = body.read(buffer); count >= 0; count = body.read(buffer)) {
      total += count;
      if (total > max) {
        throw tooLarge(max);
      }
      upload.write(buffer, 0, count);
    }
    if (expected != null && expected != total) {
      throw SandboxException.invalid(
          "size", "%d bytes were announced and %d came".formatted(expected, total));
    }
    running.countUpload(total);
  }

  private static void requireEtag(GuestFiles files, String path, String etag, Redaction out) {
    FileEntry now = Entries.of(files.stat(path), out);
    if (!etag.equals("*") && !etag.equals(now.etag())) {
      throw new SandboxException(
              ErrorCode.PRECONDITION_FAILED, path + " has changed: its ETag is " + now.etag())
          .withHint("read it again, and write with the new ETag");
    }
  }

  private static SandboxException tooLarge(long max) {
    return new SandboxException(
            ErrorCode.TOO_LARGE, "the file is larger than " + max + " bytes, the most one may have")
        .withHint("split it, or raise file.max-upload");
  }

  private GuestFiles files(RunningSandbox running) {
    GuestFiles files = running.guest().files();
    return attributes ? files.withAttributes() : files;
  }

  private static int most(int limit, int max) {
    if (limit < 1) {
      throw SandboxException.invalid("limit", "must be at least 1");
    }
    return Math.min(limit, max);
  }

  private static OnExisting existing(boolean overwrite) {
    return overwrite ? OnExisting.REPLACE : OnExisting.FAIL;
  }
}
