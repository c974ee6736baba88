package dev.carrel.control.artifact;

import dev.carrel.control.artifact.Signed.Skipped;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.audit.SigningKey;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.Events;
import dev.carrel.control.files.SandboxPath;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.store.Database;
import dev.carrel.guest.FileEntry;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.FileChange;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Signs what sandboxes leave behind. A signature says: these bytes came out of a sandbox of this
 * server. It says nothing of what the bytes are; their names and their content are the word of a
 * sandbox. Safe for many threads.
 */
public final class Artifacts {
  public static final int MAX_LISTED = 1000;

  /** What changes in here is an artifact without being named. */
  static final String FOLDER = "outputs";

  private static final String BELOW = FOLDER + "/";
  private static final String WORKSPACE = Sandbox.WORKSPACE + "/";
  private static final int MAX_IN_MANIFEST = 10_000;
  private static final Duration CLOCKS = Duration.ofMinutes(1);
  private static final Pattern SHA256 = Pattern.compile("[0-9a-f]{64}");

  private final Sandboxes sandboxes;
  private final ArtifactSettings settings;
  private final Database database;
  private final Audit audit;
  private final Events events;

  public Artifacts(
      Sandboxes sandboxes,
      ArtifactSettings settings,
      Database database,
      Audit audit,
      Events events) {
    this.sandboxes = sandboxes;
    this.settings = settings;
    this.database = database;
    this.audit = audit;
    this.events = events;
  }

  /**
   * Signs files as they are now.
   *
   * @param paths files, or folders with all that is in them; null: the folder of outputs
   */
  public Signed sign(Caller caller, SandboxId sandbox, @Nullable List<String> paths) {
    Set<String> wanted = declared("paths", paths == null ? List.of(FOLDER) : paths);
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    try (RunningSandbox.Use _ = running.use()) {
      var gathering = new Gathering(running, settings);
      wanted.forEach(gathering::add);
      return keep(running, gathering, caller.nameFor(running.tenant()), null);
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  /** Refuses paths that cannot be artifacts of an exec that is to start. */
  public void check(List<String> paths) {
    declared("artifacts", paths);
  }

  /**
   * Signs what an exec left: what it changed in the folder of outputs, and what was named when it
   * was started. What cannot be read any more is told, and is no failure of the exec.
   */
  public Signed ended(
      RunningSandbox sandbox,
      ExecId exec,
      String principal,
      ExecEvent.Exited exited,
      List<String> named) {
    if (exited.cause() == ExecEvent.Cause.SANDBOX_LOST) {
      return Signed.NOTHING;
    }
    Set<String> wanted = new LinkedHashSet<>(declared("artifacts", named));
    exited.changes().stream()
        .filter(change -> change.action() != FileChange.Action.DELETED && !change.directory())
        .map(FileChange::path)
        .filter(path -> path.startsWith(BELOW))
        .forEach(wanted::add);
    if (exited.changesTruncated()) {
      wanted.add(FOLDER);
    }
    if (wanted.isEmpty()) {
      return Signed.NOTHING;
    }
    var gathering = new Gathering(sandbox, settings);
    wanted.forEach(gathering::add);
    return keep(sandbox, gathering, principal, exec);
  }

  /**
   * Signs what a cell left in the folder of outputs. A cell does not tell what it changed: that is
   * what has other content than was signed under its name before.
   *
   * @param request what it is found by
   */
  public Signed left(Caller caller, SandboxId sandbox, ExecId request) {
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    try (RunningSandbox.Use _ = running.use()) {
      var gathering = new Gathering(running, settings);
      var before = new Before(sandbox);
      gathering.addUnless(before::unchanged, FOLDER);
      gathering.found().removeIf(before::same);
      return keep(running, gathering, caller.nameFor(running.tenant()), request);
    } catch (SandboxException e) {
      throw running.explain(e);
    }
  }

  /** What was signed of a sandbox, looked up when the first file asks. */
  private final class Before {
    private final SandboxId sandbox;
    private @Nullable Map<String, Artifact> latest;

    Before(SandboxId sandbox) {
      this.sandbox = sandbox;
    }

    /** Long before it was signed: what changed lately is read, whatever its clock says. */
    boolean unchanged(FileEntry entry) {
      Artifact last = last(Gathering.path(entry));
      return last != null
          && last.size() == entry.size()
          && entry.modified().isBefore(last.signedAt().minus(CLOCKS));
    }

    boolean same(Gathering.Found found) {
      Artifact last = last(found.path());
      return last != null && last.sha256().equals(found.sha256());
    }

    private @Nullable Artifact last(String path) {
      Map<String, Artifact> known = latest;
      if (known == null) {
        known =
            database.read(handle -> ArtifactStore.latest(handle, sandbox, MAX_IN_MANIFEST)).stream()
                .collect(Collectors.toMap(Artifact::path, one -> one));
        latest = known;
      }
      return known.get(path);
    }
  }

  /** Newest first. */
  public List<Artifact> list(Caller caller, SandboxId sandbox, @Nullable ExecId exec, int limit) {
    sandboxes.requireVisible(caller, sandbox);
    return database.read(handle -> ArtifactStore.ofSandbox(handle, sandbox, exec, limit));
  }

  /** Of an exec whose sandbox the caller has shown to be its own. */
  public List<Artifact> of(SandboxId sandbox, ExecId exec) {
    return database.read(handle -> ArtifactStore.ofSandbox(handle, sandbox, exec, MAX_LISTED));
  }

  /** Where a file came from, newest first; also from sandboxes that are gone. */
  public List<Artifact> find(Caller caller, String sha256) {
    String digest = sha256.toLowerCase(Locale.ROOT);
    if (!SHA256.matcher(digest).matches()) {
      throw SandboxException.invalid("sha256", "must have 64 hexadecimal digits");
    }
    String tenant = caller.role() == Caller.Role.ADMIN ? null : caller.tenant();
    return database.read(handle -> ArtifactStore.find(handle, tenant, digest, MAX_LISTED));
  }

  /** The last of each file, under one signature. */
  public Manifest manifest(Caller caller, SandboxId sandbox) {
    sandboxes.requireVisible(caller, sandbox);
    List<Artifact> latest =
        database.read(handle -> ArtifactStore.latest(handle, sandbox, MAX_IN_MANIFEST));
    return Manifest.of(audit.key(), sandbox.value(), now(), latest);
  }

  private Signed keep(
      RunningSandbox sandbox, Gathering gathering, String principal, @Nullable ExecId exec) {
    SigningKey key = audit.key();
    Instant at = now();
    var fresh = new ArrayList<Artifact>();
    for (Gathering.Found found : gathering.found()) {
      fresh.add(
          new Artifact(
              sandbox.tenant(),
              sandbox.namespace(),
              sandbox.id(),
              exec,
              found.path(),
              found.sha256(),
              found.size(),
              found.mime(),
              Artifact.sign(key, found.sha256(), found.size()),
              key.id(),
              at));
    }
    if (!fresh.isEmpty()) {
      database.write(
          handle -> {
            for (Artifact artifact : fresh) {
              ArtifactStore.insert(handle, artifact);
              audit.append(handle, entry(sandbox, principal, artifact));
            }
            ArtifactStore.prune(handle, sandbox.tenant());
            return fresh.size();
          });
      fresh.forEach(artifact -> tell(sandbox, artifact));
    }
    List<Skipped> skipped = gathering.skipped();
    return new Signed(fresh, skipped, gathering.truncated());
  }

  private static AuditEntry entry(RunningSandbox sandbox, String principal, Artifact artifact) {
    return AuditEntry.of(Who.in(sandbox, principal), "artifact.sign", AuditEntry.Outcome.OK)
        .withSubject(artifact.path())
        .withDigest(artifact.sha256())
        .withDetails(details(artifact));
  }

  private void tell(RunningSandbox sandbox, Artifact artifact) {
    var details = new HashMap<>(details(artifact));
    details.put("path", artifact.path());
    details.put("sha256", artifact.sha256());
    events.tell(
        sandbox.tenant(), sandbox.namespace(), Event.ARTIFACT_SIGNED, sandbox.id(), details);
  }

  private static Map<String, String> details(Artifact artifact) {
    var details = new HashMap<String, String>();
    details.put("size", String.valueOf(artifact.size()));
    details.put("mime", artifact.mime());
    ExecId exec = artifact.exec();
    if (exec != null) {
      details.put("exec_id", exec.value());
    }
    return details;
  }

  /** Relative to the workspace, in which all artifacts are. */
  private Set<String> declared(String field, List<String> paths) {
    if (paths.size() > settings.maxFiles()) {
      throw SandboxException.invalid(field, "at most " + settings.maxFiles() + " can be named");
    }
    var relative = new LinkedHashSet<String>();
    for (String path : paths) {
      String absolute = SandboxPath.of(field, path).absolute();
      if (!absolute.startsWith(WORKSPACE)) {
        throw SandboxException.invalid(field, "must be below " + Sandbox.WORKSPACE);
      }
      relative.add(absolute.substring(WORKSPACE.length()));
    }
    return relative;
  }

  private static Instant now() {
    return Instant.now().truncatedTo(ChronoUnit.MILLIS);
  }
}
