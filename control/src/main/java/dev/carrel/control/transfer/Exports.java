package dev.carrel.control.transfer;

import dev.carrel.control.access.AccessTokens;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.files.ArchiveFormat;
import dev.carrel.control.files.ByteRange;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.FileEntry;
import dev.carrel.control.files.FileListing;
import dev.carrel.control.files.FileSettings;
import dev.carrel.control.files.Files;
import dev.carrel.control.files.SandboxPath;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxListener;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.store.Database;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExportId;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * What may leave sandboxes: by a signed link for anybody who has it, or into another sandbox of the
 * same owner. Safe for many threads.
 */
public final class Exports implements SandboxListener {
  public static final int MAX_AT_ONCE = 100;

  private final TransferSettings settings;
  private final Sandboxes sandboxes;
  private final Files files;
  private final AccessTokens tokens;
  private final ExportStore store;
  private final Audit audit;

  public Exports(
      TransferSettings settings,
      Sandboxes sandboxes,
      Files files,
      AccessTokens tokens,
      Database database,
      Audit audit) {
    this.settings = settings;
    this.sandboxes = sandboxes;
    this.files = files;
    this.tokens = tokens;
    this.store = new ExportStore(database);
    this.audit = audit;
  }

  /**
   * Lets paths out, each for itself, with a link to each.
   *
   * @param paths in the workspace; what a folder has and will have goes with it
   * @param linkTime how long links are good; null: as the settings say
   */
  public List<Exported> add(
      Caller caller, SandboxId sandbox, List<String> paths, @Nullable Duration linkTime) {
    if (paths.isEmpty() || paths.size() > MAX_AT_ONCE) {
      throw SandboxException.invalid("files", "must have 1 to " + MAX_AT_ONCE + " entries");
    }
    Duration time = checked(linkTime == null ? settings.linkTime() : linkTime);
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    var done = new ArrayList<Exported>();
    try (RunningSandbox.Use _ = running.use()) {
      for (String path : paths) {
        done.add(add(caller, running, path, time));
      }
    }
    return done;
  }

  private Exported add(Caller caller, RunningSandbox running, String path, Duration time) {
    try {
      String absolute = inWorkspace(path);
      FileEntry entry = requirePlain(caller, running, absolute);
      boolean folder = entry.type() == FileEntry.Type.DIR;
      Long size = folder ? size(caller, running.id(), absolute) : Long.valueOf(entry.size());
      Export export =
          store.put(
              new Export(
                  ExportId.random(),
                  running.tenant(),
                  running.id(),
                  absolute,
                  caller.nameFor(running.tenant()),
                  Instant.now().truncatedTo(ChronoUnit.MILLIS)));
      audit.write(
          AuditEntry.of(Who.in(running, caller), "file.export", Outcome.OK)
              .withSubject(running.redaction().text(absolute))
              .withDetails(Map.of("export_id", export.id().value())));
      return new Exported(absolute, link(export, time), folder, size, null);
    } catch (SandboxException e) {
      SandboxException told = running.explain(e);
      if (told.code() == ErrorCode.SANDBOX_GONE || told.code() == ErrorCode.GUEST_LOST) {
        throw told;
      }
      return new Exported(path, null, false, 0L, told);
    }
  }

  private static Duration checked(Duration time) {
    if (time.compareTo(Duration.ofSeconds(1)) < 0
        || time.compareTo(TransferSettings.MAX_LINK_TIME) > 0) {
      throw SandboxException.invalid(
          "expires_in_seconds",
          "must be between 1 and " + TransferSettings.MAX_LINK_TIME.toSeconds());
    }
    return time;
  }

  private static String inWorkspace(String path) {
    String absolute = SandboxPath.of("path", path).absolute();
    if (!absolute.equals(Sandbox.WORKSPACE) && !absolute.startsWith(Sandbox.WORKSPACE + "/")) {
      throw SandboxException.invalid(
          "path", "Path outside /workspace: " + Text.printable(path, 200));
    }
    return absolute;
  }

  /** A file or folder that is in the workspace, and no link out of it. */
  private FileEntry requirePlain(Caller caller, RunningSandbox running, String absolute) {
    if (!running.sharesHostFiles()) {
      String inside = SandboxPath.of("path", absolute).inside();
      running.guest().files().beneath(Sandbox.WORKSPACE).stat(inside);
    }
    FileEntry entry = files.stat(caller, running.id(), absolute);
    if (entry.type() != FileEntry.Type.FILE && entry.type() != FileEntry.Type.DIR) {
      throw new SandboxException(
          ErrorCode.NOT_A_FILE, absolute + " is neither a file nor a folder");
    }
    return entry;
  }

  private @Nullable Long size(Caller caller, SandboxId sandbox, String folder) {
    FileListing all = files.tree(caller, sandbox, folder, FileSettings.MOST);
    return all.truncated()
        ? null
        : Long.valueOf(
            all.entries().stream()
                .filter(entry -> entry.type() == FileEntry.Type.FILE)
                .mapToLong(FileEntry::size)
                .sum());
  }

  private Export.Link link(Export export, Duration time) {
    Instant expires = Instant.now().plus(time).truncatedTo(ChronoUnit.SECONDS);
    return new Export.Link(export, expires, tokens.ofExport(export.id(), expires));
  }

  public List<Export> list(Caller caller, SandboxId sandbox) {
    sandboxes.requireVisible(caller, sandbox);
    return store.of(sandbox);
  }

  /** Its links are good for nothing from now on. */
  public void remove(Caller caller, SandboxId sandbox, ExportId id) {
    Sandbox owner = sandboxes.get(caller, sandbox);
    if (!store.delete(sandbox, id)) {
      throw notFound(id);
    }
    audit.write(
        AuditEntry.of(
                new Who(owner.tenant(), caller.nameFor(owner.tenant()), owner.namespace(), sandbox),
                "file.unexport",
                Outcome.OK)
            .withSubject(id.value()));
  }

  /** What a link leads to, when it is genuine and still good. */
  public Export admit(ExportId id, String token) {
    // Before anything is looked up: who has no link learns nothing, not even that there is one.
    if (!tokens.opensExport(id, token, Instant.now())) {
      throw new SandboxException(
              ErrorCode.UNAUTHENTICATED, "the link is not genuine, or no longer good")
          .withHint("export the file again for a new one");
    }
    return store.find(id).orElseThrow(() -> notFound(id));
  }

  public FileEntry stat(Export export) {
    return files.stat(owner(export), export.sandbox(), export.path());
  }

  /**
   * Begins to read an exported file.
   *
   * @param range null: all of it
   */
  public FileDownload read(Export export, @Nullable ByteRange range) {
    return files.read(owner(export), export.sandbox(), export.path(), range);
  }

  /** Writes an exported folder as an archive. */
  public void pack(Export export, ArchiveFormat format, OutputStream out) throws IOException {
    files.pack(owner(export), export.sandbox(), export.path(), format, out);
  }

  private Caller owner(Export export) {
    return sandboxes
        .find(export.sandbox())
        .map(sandbox -> Caller.user(sandbox.tenant(), sandbox.owner()))
        .orElseThrow(() -> notFound(export.id()));
  }

  /**
   * The path of something exported that may go into another sandbox.
   *
   * @param into where it is to go
   */
  String require(Caller caller, RunningSandbox into, SandboxId from, String path) {
    Sandbox source = sandboxes.get(caller, from);
    Sandbox target = sandboxes.get(caller, into.id());
    if (!source.tenant().equals(target.tenant())
        || !source.owner().equals(target.owner())
        || !source.namespace().equals(target.namespace())) {
      throw new SandboxException(
              ErrorCode.FORBIDDEN, "Session '" + from + "' belongs to another conversation")
          .withHint("files go only between sandboxes of the same owner and namespace");
    }
    String absolute = inWorkspace(path);
    if (store.of(from).stream().noneMatch(export -> export.covers(absolute))) {
      throw new SandboxException(
              ErrorCode.FORBIDDEN, "File not exported from source session (use export_files first)")
          .withHint("export " + absolute + ", or a folder that it is in");
    }
    return absolute;
  }

  @Override
  public void ended(SandboxId id) {
    // A volume outlives its machine, and so does what may leave it.
  }

  @Override
  public void removed(SandboxId id) {
    // All that there is of it is rows.
  }

  @Override
  public void erase(Handle handle, SandboxId id) {
    ExportStore.deleteAll(handle, id);
  }

  private static SandboxException notFound(ExportId id) {
    return new SandboxException(ErrorCode.EXPORT_NOT_FOUND, "there is no export " + id);
  }
}
