package dev.carrel.control.files;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.guest.FileWrite;
import dev.carrel.guest.GuestFiles;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;

/**
 * Changes parts of text files. Works on what is really in the file, secrets included, which only
 * the answer is cleaned of. Safe for many threads.
 */
public final class Edits {
  private static final int MAX_BYTES = TextEdit.MAX_LENGTH;
  private static final int MAX_EDITS = 200;

  /** Characters gone through, each edit going through all of them. */
  private static final long MAX_WORK = 16L * TextEdit.MAX_LENGTH;

  /** An edit takes several times the memory of its file. */
  private static final int AT_ONCE = 2;

  private final Sandboxes sandboxes;
  private final Audit audit;
  private final Semaphore room = new Semaphore(AT_ONCE, true);

  public Edits(Sandboxes sandboxes, Audit audit) {
    this.sandboxes = sandboxes;
    this.audit = audit;
  }

  /**
   * An edited file.
   *
   * @param replaced how many pieces of text
   * @param diff what changed, as patch shows it
   */
  public record Edited(FileEntry entry, int replaced, String diff) {}

  /** Makes all of the changes, each on what the one before left, or none of them. */
  public Edited edit(Caller caller, SandboxId sandbox, String path, List<TextEdit> edits)
      throws InterruptedException {
    String inside = SandboxPath.of("path", path).inside();
    if (edits.isEmpty() || edits.size() > MAX_EDITS) {
      throw SandboxException.invalid("edits", "must be between 1 and " + MAX_EDITS);
    }
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    try (RunningSandbox.Use _ = running.use()) {
      return edit(caller, running, inside, edits);
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  private Edited edit(Caller caller, RunningSandbox running, String inside, List<TextEdit> edits)
      throws InterruptedException {
    GuestFiles files = running.guest().files();
    dev.carrel.guest.FileEntry entry;
    ByteBuffer content;
    try (dev.carrel.guest.FileDownload source = files.read(inside)) {
      entry = source.entry();
      content = content(source, entry);
    }
    FileEntry seen = Entries.of(entry, running.redaction());
    Change change;
    // Not while the sandbox is waited for: it could keep others from their turn.
    room.acquire();
    try {
      change = changed(seen.path(), content, edits);
    } finally {
      room.release();
    }
    if (!Entries.of(files.stat(inside), running.redaction()).etag().equals(seen.etag())) {
      throw new SandboxException(
              ErrorCode.PRECONDITION_FAILED, "the file was changed while it was edited")
          .withHint("read it again, and repeat the edit");
    }
    byte[] bytes = change.text().getBytes(StandardCharsets.UTF_8);
    FileEntry written =
        Entries.of(
            files.write(FileWrite.to(inside).withMode(entry.mode()).withSize(bytes.length), bytes),
            running.redaction());
    audit.write(
        AuditEntry.of(Who.in(running, caller), "file.edit", Outcome.OK)
            .withSubject(written.path())
            .withDetails(
                Map.of(
                    "size",
                    String.valueOf(written.size()),
                    "replaced",
                    String.valueOf(change.count()))));
    return new Edited(written, change.count(), running.redaction().text(change.diff()));
  }

  /** The file as it is to be. */
  private record Change(String text, int count, String diff) {}

  @SuppressWarnings("ThreadPriorityCheck") // virtual threads take turns only when they offer it
  private static Change changed(String path, ByteBuffer content, List<TextEdit> edits) {
    String before = text(content);
    String after = before;
    int count = 0;
    long work = 0;
    for (TextEdit edit : edits) {
      work += after.length();
      if (work > MAX_WORK) {
        throw new SandboxException(
                ErrorCode.TOO_LARGE, "these are too many edits at once for a file of this size")
            .withHint("make them in several calls, or with a command");
      }
      TextEdit.Applied applied = edit.apply(after);
      after = applied.text();
      count += applied.count();
      Thread.yield();
    }
    return new Change(after, count, UnifiedDiff.of(path, before, after));
  }

  private static ByteBuffer content(
      dev.carrel.guest.FileDownload source, dev.carrel.guest.FileEntry entry) {
    if (entry.size() > MAX_BYTES) {
      throw new SandboxException(
              ErrorCode.TOO_LARGE,
              "the file has %d bytes; at most %d can be edited".formatted(entry.size(), MAX_BYTES))
          .withHint("change it with a command, for example sed");
    }
    byte[] bytes = new byte[(int) entry.size()];
    int length = 0;
    for (int count; length < bytes.length; length += count) {
      count = source.read(bytes, length, bytes.length - length);
      if (count < 0) {
        break;
      }
    }
    return ByteBuffer.wrap(bytes, 0, length);
  }

  private static String text(ByteBuffer content) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(content).toString();
    } catch (CharacterCodingException e) {
      throw new SandboxException(ErrorCode.NOT_A_FILE, "the file is not UTF-8 text")
          .withHint("change it with a command");
    }
  }
}
