package dev.carrel.control.transfer;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.egress.Gates;
import dev.carrel.control.files.FileDownload;
import dev.carrel.control.files.FileEntry;
import dev.carrel.control.files.FileListing;
import dev.carrel.control.files.Files;
import dev.carrel.control.files.SandboxPath;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.store.Spool;
import dev.carrel.image.Unpacker;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Text;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Brings files into sandboxes. Each of a request is tried for itself; what fails is told and keeps
 * no other from coming. Safe for many threads.
 */
public final class Imports {
  public static final int MAX_AT_ONCE = 100;

  private static final int BUFFER = 64 * 1024;

  private final TransferSettings settings;
  private final Sandboxes sandboxes;
  private final Files files;
  private final Exports exports;
  private final HostFolders hostFolders;
  private final Download download;
  private final Spool spool;
  private final Audit audit;

  /**
   * @param data the server's own folder, which nobody may import from
   */
  public Imports(
      TransferSettings settings,
      Sandboxes sandboxes,
      Files files,
      Exports exports,
      Gates gates,
      Path data,
      Audit audit) {
    this.settings = settings;
    this.sandboxes = sandboxes;
    this.files = files;
    this.exports = exports;
    this.hostFolders = new HostFolders(settings.hostFolders(), data);
    this.spool = new Spool(data.resolve("transfers"));
    this.download = new Download(gates, settings, spool);
    this.audit = audit;
  }

  public List<Imported> run(Caller caller, SandboxId sandbox, List<ImportFile> wanted)
      throws IOException, InterruptedException {
    if (wanted.isEmpty() || wanted.size() > MAX_AT_ONCE) {
      throw SandboxException.invalid("files", "must have 1 to " + MAX_AT_ONCE + " entries");
    }
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    var done = new ArrayList<Imported>();
    try (RunningSandbox.Use _ = running.use()) {
      for (ImportFile one : wanted) {
        done.add(bring(caller, running, one));
      }
    }
    return done;
  }

  /** A file whose bytes are still coming, as of an upload. */
  public Imported run(
      Caller caller,
      SandboxId sandbox,
      String name,
      String destination,
      boolean unpack,
      InputStream content)
      throws IOException {
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    try (RunningSandbox.Use _ = running.use()) {
      var landing = new Landing(running, settings, destination);
      SandboxException failure = null;
      try {
        if (unpack) {
          unpack(content, landing);
        } else {
          landing.file("", false, content);
        }
      } catch (SandboxException e) {
        failure = told(running, e);
      }
      String shown = SandboxPath.of("destination", destination).absolute();
      var done = new Imported(name, shown, landing.files(), landing.bytes(), 0, failure);
      note(caller, running, "upload", done);
      return done;
    }
  }

  private Imported bring(Caller caller, RunningSandbox running, ImportFile wanted)
      throws IOException, InterruptedException {
    String target = wanted.target();
    var landing = new Landing(running, settings, target);
    long[] skipped = {0};
    SandboxException failure = null;
    String shown = target;
    try {
      shown = SandboxPath.of("destination", target).absolute();
      switch (wanted.source()) {
        case ImportFile.OnHost host -> fromHost(host, wanted.unpack(), landing, skipped);
        case ImportFile.Inline inline ->
            put(new ByteArrayInputStream(inline.content()), wanted.unpack(), landing);
        case ImportFile.Address address ->
            fromWeb(sandboxes.get(caller, running.id()), address, wanted.unpack(), landing);
        case ImportFile.Exported exported ->
            fromSandbox(caller, running, exported, wanted.unpack(), landing, skipped);
      }
    } catch (SandboxException e) {
      failure = told(running, e);
    }
    var done =
        new Imported(
            wanted.source().shown(), shown, landing.files(), landing.bytes(), skipped[0], failure);
    note(caller, running, kind(wanted.source()), done);
    return done;
  }

  /** A sandbox that is gone takes the whole request with it. */
  private static SandboxException told(RunningSandbox running, SandboxException e) {
    SandboxException explained = running.explain(e);
    if (explained.code() == ErrorCode.SANDBOX_GONE || explained.code() == ErrorCode.GUEST_LOST) {
      throw explained;
    }
    return explained;
  }

  private static String kind(ImportFile.Source source) {
    return switch (source) {
      case ImportFile.OnHost _ -> "host";
      case ImportFile.Inline _ -> "inline";
      case ImportFile.Address _ -> "url";
      case ImportFile.Exported _ -> "sandbox";
    };
  }

  private void fromHost(ImportFile.OnHost host, boolean unpack, Landing landing, long[] skipped)
      throws IOException {
    hostFolders.read(
        host.path(),
        new HostFolders.Visitor() {
          @Override
          public void folder(String name) {
            if (unpack) {
              throw new SandboxException(ErrorCode.NOT_A_FILE, "a folder cannot be unpacked");
            }
            landing.folder(name);
          }

          @Override
          public void file(String name, long size, boolean executable, InputStream content)
              throws IOException {
            if (unpack) {
              unpack(content, landing);
            } else {
              landing.file(name, executable, content);
            }
          }

          @Override
          public void other(String name) {
            skipped[0]++;
          }
        });
  }

  private void fromWeb(Sandbox sandbox, ImportFile.Address address, boolean unpack, Landing landing)
      throws IOException, InterruptedException {
    Path file = spool.create();
    try {
      download.save(sandbox, address.url(), file);
      land(file, "", false, unpack, landing);
    } finally {
      java.nio.file.Files.delete(file);
    }
  }

  private void fromSandbox(
      Caller caller,
      RunningSandbox running,
      ImportFile.Exported exported,
      boolean unpack,
      Landing landing,
      long[] skipped)
      throws IOException {
    String path = exports.require(caller, running, exported.sandbox(), exported.path());
    FileEntry entry = files.stat(caller, exported.sandbox(), path);
    if (entry.type() != FileEntry.Type.DIR) {
      read(caller, exported.sandbox(), path, "", unpack, landing);
      return;
    }
    if (unpack) {
      throw new SandboxException(ErrorCode.NOT_A_FILE, "a folder cannot be unpacked");
    }
    FileListing listing = files.tree(caller, exported.sandbox(), path, settings.maxFiles());
    if (listing.truncated()) {
      throw new SandboxException(
          ErrorCode.TOO_LARGE, "it has more than " + listing.entries().size() + " files");
    }
    landing.folder("");
    for (FileEntry inside : listing.entries()) {
      String name = below(path, inside.path());
      switch (inside.type()) {
        case DIR -> landing.folder(name);
        case FILE -> read(caller, exported.sandbox(), inside.path(), name, false, landing);
        case LINK, OTHER -> skipped[0]++;
      }
    }
  }

  /** What the sandbox says of its names is held to what was asked for. */
  private static String below(String folder, String path) {
    if (!path.startsWith(folder + "/")) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE, Text.printable(path, 200) + " is not where it was listed");
    }
    return path.substring(folder.length() + 1);
  }

  private void read(
      Caller caller, SandboxId from, String path, String name, boolean unpack, Landing landing)
      throws IOException {
    Path file = spool.create();
    try {
      boolean executable;
      try (FileDownload source = files.read(caller, from, path, null);
          OutputStream out = java.nio.file.Files.newOutputStream(file)) {
        requireRoom(source.length());
        executable = (source.entry().mode() & 0100) != 0;
        source.transferTo(out);
      }
      land(file, name, executable, unpack, landing);
    } finally {
      java.nio.file.Files.delete(file);
    }
  }

  private void land(Path file, String name, boolean executable, boolean unpack, Landing landing)
      throws IOException {
    if (unpack) {
      requireRoom(java.nio.file.Files.size(file));
      Unpacker.unpack(file, limits(), sink(landing));
      return;
    }
    try (InputStream in = java.nio.file.Files.newInputStream(file)) {
      landing.file(name, executable, in);
    }
  }

  private void put(InputStream content, boolean unpack, Landing landing) throws IOException {
    if (unpack) {
      unpack(content, landing);
    } else {
      landing.file("", false, content);
    }
  }

  /** A zip is read from its end: it has to be here as a whole. */
  private void unpack(InputStream content, Landing landing) throws IOException {
    Path file = spool.create();
    try {
      try (OutputStream out = java.nio.file.Files.newOutputStream(file)) {
        byte[] buffer = new byte[BUFFER];
        long total = 0;
        for (int count = content.read(buffer); count >= 0; count = content.read(buffer)) {
          total += count;
          requireRoom(total);
          out.write(buffer, 0, count);
        }
      }
      Unpacker.unpack(file, limits(), sink(landing));
    } finally {
      java.nio.file.Files.delete(file);
    }
  }

  private void requireRoom(long bytes) {
    if (bytes > settings.maxSize().bytes()) {
      throw new SandboxException(
              ErrorCode.TOO_LARGE, "it has more than " + settings.maxSize().bytes() + " bytes")
          .withHint("bring it in smaller parts, or raise import.max-size");
    }
  }

  private Unpacker.Limits limits() {
    return new Unpacker.Limits(
        settings.maxSize().bytes(), settings.maxFiles(), settings.maxRatio());
  }

  private static Unpacker.Sink sink(Landing landing) {
    return new Unpacker.Sink() {
      @Override
      public void folder(String name) {
        landing.folder(name);
      }

      @Override
      public void file(String name, long size, boolean executable, InputStream content)
          throws IOException {
        landing.file(name, executable, content);
      }
    };
  }

  private void note(Caller caller, RunningSandbox running, String from, Imported done) {
    audit.write(
        AuditEntry.of(
                Who.in(running, caller),
                "file.import",
                done.failure() == null ? Outcome.OK : Outcome.of(done.failure().code().wireName()))
            .withSubject(running.redaction().text(done.destination()))
            .withDetails(
                Map.of(
                    "from", from,
                    "source", running.redaction().text(done.source()),
                    "files", String.valueOf(done.files()),
                    "size", String.valueOf(done.size()))));
  }
}
