package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One sandbox. Safe for many threads. Closing deletes one that was created here; one with a session
 * key, or one that was looked up, lives on.
 */
public final class Sandbox implements AutoCloseable {
  private static final TypeReference<SandboxInfo> INFO = new TypeReference<>() {};
  private static final TypeReference<ExecResult> EXEC_RESULT = new TypeReference<>() {};
  private static final TypeReference<ExecInfo> EXEC_INFO = new TypeReference<>() {};
  private static final TypeReference<ExecList> EXECS = new TypeReference<>() {};
  private static final TypeReference<CodeResult> CODE_RESULT = new TypeReference<>() {};

  private static final TypeReference<SandboxUsage> USAGE = new TypeReference<>() {};
  private static final TypeReference<ActivityList> ACTIVITY = new TypeReference<>() {};
  private static final TypeReference<SnapshotInfo> SNAPSHOT = new TypeReference<>() {};

  private static final TypeReference<SignedArtifacts> SIGNED = new TypeReference<>() {};
  private static final TypeReference<PortLink> LINK = new TypeReference<>() {};
  private static final TypeReference<ArtifactManifest> MANIFEST = new TypeReference<>() {};
  private static final TypeReference<Map<String, Object>> CARRIED = new TypeReference<>() {};
  private static final TypeReference<Installation> INSTALLATION = new TypeReference<>() {};
  private static final TypeReference<SkillInstallation> SKILLS = new TypeReference<>() {};
  private static final TypeReference<SkillList> SKILL_LIST = new TypeReference<>() {};
  static final TypeReference<BudgetInfo> BUDGET = new TypeReference<>() {};
  static final TypeReference<ArtifactList> ARTIFACTS = new TypeReference<>() {};

  private final Transport transport;
  private final SandboxInfo info;
  private final String path;

  private final AtomicBoolean owned;

  /** One that is left alone when this object is closed. */
  Sandbox(Transport transport, SandboxInfo info) {
    this(transport, info, new AtomicBoolean());
  }

  private Sandbox(Transport transport, SandboxInfo info, AtomicBoolean owned) {
    this.transport = transport;
    this.info = info;
    this.owned = owned;
    this.path = Sandboxes.PATH + "/" + Transport.encode(info.id());
  }

  static Sandbox created(Transport transport, SandboxInfo info, boolean owned) {
    return new Sandbox(transport, info, new AtomicBoolean(owned));
  }

  /** Starts one with the server's defaults; returns once it runs. */
  public static Sandbox create(Carrel carrel) {
    return carrel.sandboxes().create();
  }

  /** Starts one, or finds the one with this session key; returns once it runs. */
  public static Sandbox create(Carrel carrel, SandboxOptions options) {
    return carrel.sandboxes().create(options);
  }

  public String id() {
    return info.id();
  }

  /** As it was when this object was made; see {@link #refresh()}. */
  public SandboxInfo info() {
    return info;
  }

  /** The same sandbox with what the server says now. */
  public Sandbox refresh() {
    return become(transport.get(path, INFO));
  }

  /** Changes what can be changed; names and types are those of {@code PATCH}. */
  public Sandbox update(Map<String, Object> changes) {
    return become(transport.patch(path, changes, INFO));
  }

  /** Starts it again with its files when it has stopped or failed; lets it go on when paused. */
  public Sandbox start() {
    return change("start");
  }

  /** Ends its machine and keeps its files. */
  public Sandbox stop() {
    return change("stop");
  }

  /** Holds every process where it is; the next call lets them go on. */
  public Sandbox pause() {
    return change("pause");
  }

  /** Lets a paused one go on. */
  public Sandbox resume() {
    return change("resume");
  }

  /**
   * Keeps its files as they are now.
   *
   * @param name for people
   */
  public SnapshotInfo snapshot(@Nullable String name) {
    return transport.post(
        path + "/snapshots", name == null ? Map.of() : Map.of("name", name), SNAPSHOT);
  }

  /** The snapshots of this sandbox, newest first. */
  public List<SnapshotInfo> snapshots() {
    return transport.get(path + "/snapshots", Snapshots.LIST).snapshots();
  }

  /** Gives it the files of a snapshot in place of its own. */
  public Sandbox restore(String snapshotId) {
    return become(transport.post(path + "/restore", Map.of("snapshot_id", snapshotId), INFO));
  }

  /** A new sandbox like this one, with the files of this moment. */
  public Sandbox fork() {
    return created(transport, transport.post(path + "/fork", Map.of(), INFO), true);
  }

  /**
   * What went on in it, newest first.
   *
   * @param limit at most 200
   */
  public List<ActivityInfo> activity(int limit) {
    return transport.get(path + "/activity?limit=" + limit, ACTIVITY).activity();
  }

  /**
   * A link to what listens on a port, or will, by HTTP and WebSocket. Whoever has it reaches this
   * port and no other.
   *
   * @param life how long it is good; at most a week
   */
  public PortLink link(int port, Duration life) {
    return transport.post(
        path + "/ports/" + port + "/link", Map.of("expires_in_seconds", life.toSeconds()), LINK);
  }

  /** As {@link #link(int, Duration)}, for an hour. */
  public PortLink link(int port) {
    return link(port, Duration.ofHours(1));
  }

  /**
   * Files of it that were signed, newest first.
   *
   * @param execId only those of one command; null: all
   * @param limit at most 1000
   */
  public List<ArtifactInfo> artifacts(@Nullable String execId, int limit) {
    String query = "?limit=" + limit + (execId == null ? "" : "&exec=" + Transport.encode(execId));
    return transport.get(path + "/artifacts" + query, ARTIFACTS).artifacts();
  }

  /**
   * Signs files as they are now.
   *
   * @param paths files, or folders with all that is in them
   */
  public SignedArtifacts sign(List<String> paths) {
    return transport.post(path + "/artifacts", Map.of("paths", paths), SIGNED);
  }

  /** The last of each signed file, under one signature. */
  public ArtifactManifest artifactManifest() {
    return transport.get(path + "/artifacts/manifest", MANIFEST);
  }

  /**
   * Installs packages in it, through its own policy.
   *
   * @param manager pip, npm or r
   * @param packages names, with or without a version as the client writes them
   * @param scripts whether packages may run code of their own while they are installed
   */
  public Installation install(String manager, List<String> packages, boolean scripts) {
    return transport.post(
        path + "/packages",
        Map.of("manager", manager, "packages", packages, "scripts", scripts),
        INSTALLATION);
  }

  /** What it may use up in all, and has used. */
  public BudgetInfo budget() {
    return transport.get(path + "/budget", BUDGET);
  }

  /** Sets what it may use up in all; who is no administrator can only make that smaller. */
  public BudgetInfo budget(BudgetLimits limits) {
    return transport.put(path + "/budget", limits, BUDGET);
  }

  /** What it may reach. */
  public Egress egress() {
    return new Egress(transport, path);
  }

  /** What it uses now; zeros when it does not run. */
  public SandboxUsage usage() {
    return transport.get(path + "/usage", USAGE);
  }

  /**
   * What happens to it, live.
   *
   * @param after the id of the last event seen; null: from now on
   */
  public EventStream events(@Nullable Long after) {
    return EventStream.open(transport, path + "/events", after);
  }

  private Sandbox change(String verb) {
    return become(transport.post(path + "/" + verb, Map.of(), INFO));
  }

  /** The same sandbox, as it is now; whichever of the two is closed first deletes it. */
  private Sandbox become(SandboxInfo now) {
    return new Sandbox(transport, now, owned);
  }

  /** Deletes it if it was created here and has no session key. */
  @Override
  public void close() {
    if (owned.getAndSet(false)) {
      try {
        delete();
      } catch (CarrelException e) {
        if (e.code() != ErrorCode.SANDBOX_NOT_FOUND) {
          throw e;
        }
      }
    }
  }

  /** Ends every process in it and removes all its files. */
  public void delete() {
    transport.delete(path);
  }

  /** Runs a line of shell to its end. */
  public ExecResult exec(String shell) {
    return exec(ExecOptions.shell(shell));
  }

  /** Runs a command to its end. A command that fails is a result, not an exception. */
  public ExecResult exec(ExecOptions options) {
    return transport.post(
        path + "/exec", options.withBackground(false), options.idempotencyKey(), EXEC_RESULT);
  }

  /**
   * Starts a command and follows it live. Closing the returned exec early kills the command, unless
   * it was started in the background or with an idempotency key.
   */
  public ExecStream execStream(ExecOptions options) {
    return ExecStream.start(transport, path, options);
  }

  /** Starts a command that goes on by itself; find it again with {@link #execs()}. */
  public ExecInfo execBackground(ExecOptions options) {
    return transport.post(
        path + "/exec", options.withBackground(true), options.idempotencyKey(), EXEC_INFO);
  }

  /** Commands that run and those that ran lately, newest first. */
  public List<ExecInfo> execs() {
    return transport.get(path + "/execs", EXECS).execs();
  }

  /** Follows a command that was started before: its output from an offset on, then live. */
  public ExecStream attach(String execId, long from) {
    return ExecStream.attach(transport, path, execId, from);
  }

  /** Runs code in the sandbox's own context of that language and waits for its end. */
  public CodeResult runCode(String language, String code) {
    return runCode(CodeOptions.of(language, code));
  }

  /** Runs code to its end. Code that fails is a result, not an exception. */
  public CodeResult runCode(CodeOptions options) {
    return transport.post(path + "/code", options, options.idempotencyKey(), CODE_RESULT);
  }

  /** Runs code and follows it live. Closing the stream early interrupts it, unless it has a key. */
  public CodeStream runCodeStream(CodeOptions options) {
    return CodeStream.start(transport, path + "/code", options);
  }

  /** Shells that outlive those who look at them. */
  public Terminals terminals() {
    return new Terminals(transport, path);
  }

  /** The persistent interpreters of this sandbox. */
  public Contexts contexts() {
    return new Contexts(transport, path);
  }

  /**
   * Carries a value between interpreters.
   *
   * @param request with the fields that the API describes, for example {@code name}, {@code
   *     language} and {@code to_language}
   */
  public Map<String, Object> bridge(Map<String, Object> request) {
    return transport.post(path + "/bridge", request, CARRIED);
  }

  /**
   * Gives it skills; where one is in its place already, nothing is done.
   *
   * @param skills ids or names
   */
  public SkillInstallation installSkills(List<String> skills) {
    return transport.post(path + "/skills", Map.of("skill_ids", skills), SKILLS);
  }

  /** What it was given, by name. */
  public List<InstalledSkill> skills() {
    return transport.get(path + "/skills", SKILL_LIST).skills();
  }

  /** Files on their way in and out. */
  public Transfers transfers() {
    return new Transfers(transport, path);
  }

  /** The files of this sandbox. */
  public Files files() {
    return new Files(transport, path);
  }

  record ArtifactList(List<ArtifactInfo> artifacts) {}

  private record SkillList(List<InstalledSkill> skills) {}

  private record ExecList(List<ExecInfo> execs) {}

  private record ActivityList(List<ActivityInfo> activity) {}
}
