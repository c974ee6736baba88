package dev.carrel.control.transfer;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.files.SandboxPath;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.SandboxListener;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.store.Database;
import dev.carrel.guest.FileUpload;
import dev.carrel.guest.FileWrite;
import dev.carrel.guest.GuestFiles;
import dev.carrel.guest.OnExisting;
import dev.carrel.guest.RemoveOption;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.UploadId;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jdbi.v3.core.Handle;

/**
 * Uploads that go on after a broken connection, and after a restart of the server. What has come is
 * a file in the sandbox, whose length says where to go on; it gets its name when it is whole. Safe
 * for many threads; one request at a time writes to an upload.
 */
public final class Uploads implements SandboxListener {
  private static final int BUFFER = 64 * 1024;
  private static final int MAX_OF_SANDBOX = 100;
  // As long as one wait for a guest may last, which has a gigabyte to sync.
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final TransferSettings settings;
  private final Sandboxes sandboxes;
  private final UploadStore store;
  private final Audit audit;
  // Counted down by who has put it there, when he has written.
  private final Map<UploadId, CountDownLatch> busy = new ConcurrentHashMap<>();

  public Uploads(TransferSettings settings, Sandboxes sandboxes, Database database, Audit audit) {
    this.settings = settings;
    this.sandboxes = sandboxes;
    this.store = new UploadStore(database);
    this.audit = audit;
  }

  /** An upload, and how much of it is there. */
  public record Progress(Upload upload, long offset, Instant expires) {}

  public Progress begin(Caller caller, SandboxId sandbox, String path, long size) {
    String absolute = SandboxPath.of("path", path).absolute();
    if (size < 0 || size > settings.maxSize().bytes()) {
      throw new SandboxException(
              ErrorCode.TOO_LARGE, "an upload has at most " + settings.maxSize().bytes() + " bytes")
          .withHint("split it, or raise import.max-size");
    }
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    sweep(running);
    if (store.of(sandbox).stream().filter(upload -> !upload.whole()).count() >= MAX_OF_SANDBOX) {
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED, "a sandbox has at most " + MAX_OF_SANDBOX + " uploads")
          .withHint("finish or delete those that were begun");
    }
    var upload =
        new Upload(
            UploadId.random(),
            running.tenant(),
            sandbox,
            absolute,
            size,
            false,
            Instant.now().truncatedTo(ChronoUnit.MILLIS));
    try {
      running.guest().files().write(FileWrite.to(draft(upload)).withIfAbsent(true), new byte[0]);
      store.insert(upload);
      return size == 0 ? finish(caller, running, upload) : progress(upload, 0);
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  /**
   * Where it stands; one of which all has come gets its name first, or this fails as that does.
   *
   * @throws SandboxException {@code WRONG_STATE} when all has come, and a request that {@link
   *     #isWritten writes} to it is still at the rest
   */
  public Progress find(Caller caller, SandboxId sandbox, UploadId id) throws InterruptedException {
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    Upload upload = require(sandbox, id);
    long there = arrived(running, upload);
    if (upload.whole() || there != upload.size()) {
      return progress(upload, there);
    }
    // All of it came and something kept it from its place. Who is told so takes it for done.
    awaitClaim(id);
    try (RunningSandbox.Use _ = running.use()) {
      Upload now = require(sandbox, id);
      there = offset(running, now);
      if (now.whole() || there != now.size()) {
        return progress(now, there);
      }
      sync(running, now, there);
      return finish(caller, running, now);
    } catch (SandboxException e) {
      throw running.explain(e);
    } finally {
      release(id);
    }
  }

  /** Takes what comes next; what arrived before the connection broke stays. */
  public Progress append(
      Caller caller, SandboxId sandbox, UploadId id, long offset, InputStream body)
      throws IOException {
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    Upload upload = require(sandbox, id);
    claim(id);
    try (RunningSandbox.Use _ = running.use()) {
      long there = offset(running, upload);
      if (there != offset) {
        throw new SandboxException(
                ErrorCode.WRONG_STATE, "upload " + id + " stands at " + there + ", not " + offset)
            .withHint("go on from there");
      }
      if (upload.whole()) {
        return progress(upload, there);
      }
      write(running, upload, there, body);
      long now = offset(running, upload);
      return now == upload.size() ? finish(caller, running, upload) : progress(upload, now);
    } catch (SandboxException e) {
      throw running.explain(e);
    } finally {
      release(id);
    }
  }

  /** Whether a request writes to it. */
  public boolean isWritten(UploadId id) {
    return busy.containsKey(id);
  }

  private void claim(UploadId id) {
    if (busy.putIfAbsent(id, new CountDownLatch(1)) != null) {
      throw written(id);
    }
  }

  /**
   * Waits for who is about to give it its name: to be refused would look like a failure of that.
   */
  private void awaitClaim(UploadId id) throws InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    var own = new CountDownLatch(1);
    for (CountDownLatch other; (other = busy.putIfAbsent(id, own)) != null; ) {
      if (!other.await(end - System.nanoTime(), TimeUnit.NANOSECONDS)) {
        throw written(id);
      }
    }
  }

  private void release(UploadId id) {
    CountDownLatch own = busy.remove(id);
    if (own != null) {
      own.countDown();
    }
  }

  private static SandboxException written(UploadId id) {
    return new SandboxException(ErrorCode.WRONG_STATE, "another request writes to upload " + id)
        .withHint("ask where it stands, and go on from there");
  }

  private void write(RunningSandbox running, Upload upload, long offset, InputStream body)
      throws IOException {
    try (FileUpload target = open(running, upload)) {
      try {
        pass(running, upload, upload.size() - offset, body, target);
      } catch (IOException | SandboxException e) {
        settle(running, upload, offset, target, e);
        throw e;
      }
      commit(running, upload, offset, target);
    }
  }

  /** A server that was killed has told nobody to: what it wrote may be in memory only. */
  private void sync(RunningSandbox running, Upload upload, long offset) {
    try (FileUpload nothing = open(running, upload)) {
      commit(running, upload, offset, nothing);
    }
  }

  private static FileUpload open(RunningSandbox running, Upload upload) {
    return running.guest().files().write(FileWrite.to(draft(upload)).withAppend(true));
  }

  /**
   * Ends a part. One that arrived and could not be brought to the disk ends the upload: the system
   * tells of that once, and drops what it could not write although the file keeps its length.
   */
  private void commit(RunningSandbox running, Upload upload, long offset, FileUpload target) {
    try {
      target.commit();
    } catch (SandboxException e) {
      if (e.code() != ErrorCode.GUEST_LOST) {
        forsake(running, upload, offset + target.sent(), e);
      }
      throw e;
    }
  }

  private void forsake(RunningSandbox running, Upload upload, long end, SandboxException cause) {
    try {
      // Where the disk was full before the end, what is there can be gone on from.
      if (offset(running, upload) == end) {
        // First, so that nobody takes for whole what cannot be removed.
        store.delete(upload.id());
        drop(running, upload);
      }
    } catch (SandboxException e) {
      cause.addSuppressed(e);
    }
  }

  private static void pass(
      RunningSandbox running, Upload upload, long most, InputStream body, FileUpload target)
      throws IOException {
    byte[] buffer = new byte[BUFFER];
    long left = most;
    for (int count = body.read(buffer); count >= 0; count = body.read(buffer)) {
      if (count > left) {
        throw new SandboxException(
            ErrorCode.TOO_LARGE, "more came than the " + upload.size() + " bytes announced");
      }
      left -= count;
      target.write(buffer, 0, count);
      running.countUpload(count);
    }
  }

  /**
   * What was sent before it broke off may still be on its way: whoever goes on from where the file
   * seems to end, or removes it, must not meet it there.
   */
  private void settle(
      RunningSandbox running, Upload upload, long offset, FileUpload target, Exception cause) {
    try {
      commit(running, upload, offset, target);
    } catch (SandboxException e) {
      cause.addSuppressed(e);
    }
  }

  private Progress finish(Caller caller, RunningSandbox running, Upload upload) {
    running.guest().files().move(draft(upload), inside(upload.path()), OnExisting.REPLACE);
    store.finish(upload.id());
    audit.write(
        AuditEntry.of(Who.in(running, caller), "file.upload", Outcome.OK)
            .withSubject(running.redaction().text(upload.path()))
            .withDetails(Map.of("size", String.valueOf(upload.size()))));
    return progress(upload, upload.size());
  }

  public void remove(Caller caller, SandboxId sandbox, UploadId id) {
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    drop(running, require(sandbox, id));
  }

  private void sweep(RunningSandbox running) {
    Instant oldest = Instant.now().minus(settings.uploadTime());
    List<Upload> late =
        store.of(running.id()).stream()
            .filter(upload -> upload.createdAt().isBefore(oldest))
            .toList();
    for (Upload upload : late) {
      try {
        drop(running, upload);
      } catch (SandboxException e) {
        if (e.code() == ErrorCode.SANDBOX_GONE || e.code() == ErrorCode.GUEST_LOST) {
          throw e;
        }
        // The sandbox keeps what it does not let go; new uploads must not wait for that.
        store.delete(upload.id());
      }
    }
  }

  private void drop(RunningSandbox running, Upload upload) {
    try {
      if (!upload.whole()) {
        running.guest().files().remove(draft(upload), RemoveOption.MISSING_OK);
      }
    } catch (SandboxException e) {
      // Where its folder was there is a file now: the draft went with the folder.
      if (e.code() != ErrorCode.NOT_A_DIRECTORY) {
        throw running.explain(e);
      }
    }
    store.delete(upload.id());
  }

  /** One that is just given its name is where nobody looks. */
  private long arrived(RunningSandbox running, Upload upload) {
    try {
      return offset(running, upload);
    } catch (SandboxException e) {
      // In this order: who has written says so in the store first.
      if (e.code() == ErrorCode.FILE_NOT_FOUND
          && (isWritten(upload.id()) || require(upload.sandbox(), upload.id()).whole())) {
        return upload.size();
      }
      throw e;
    }
  }

  /** As long as the sandbox says; it can harm nobody but itself by lying. */
  private static long offset(RunningSandbox running, Upload upload) {
    if (upload.whole()) {
      return upload.size();
    }
    GuestFiles files = running.guest().files();
    try {
      return files.statLink(draft(upload)).size();
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  private Upload require(SandboxId sandbox, UploadId id) {
    return store
        .find(sandbox, id)
        .filter(upload -> expires(upload).isAfter(Instant.now()))
        .orElseThrow(
            () ->
                new SandboxException(
                    ErrorCode.UPLOAD_NOT_FOUND,
                    "there is no upload " + id + "; one that is too old is forgotten"));
  }

  private Progress progress(Upload upload, long offset) {
    return new Progress(upload, offset, expires(upload));
  }

  private Instant expires(Upload upload) {
    return upload.createdAt().plus(settings.uploadTime());
  }

  private static String draft(Upload upload) {
    return inside(upload.draft());
  }

  private static String inside(String absolute) {
    return SandboxPath.of("path", absolute).inside();
  }

  @Override
  public void ended(SandboxId id) {
    // What has come of an upload is on the volume, if there is one.
  }

  @Override
  public void removed(SandboxId id) {
    // What came so far was in its files; of those that were not finished there are rows.
  }

  @Override
  public void erase(Handle handle, SandboxId id) {
    UploadStore.deleteAll(handle, id);
  }
}
