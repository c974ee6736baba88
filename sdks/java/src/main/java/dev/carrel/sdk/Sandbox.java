package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One sandbox. Safe for many threads. */
public final class Sandbox {
  private static final TypeReference<SandboxInfo> INFO = new TypeReference<>() {};
  private static final TypeReference<ExecResult> EXEC_RESULT = new TypeReference<>() {};
  private static final TypeReference<ExecInfo> EXEC_INFO = new TypeReference<>() {};
  private static final TypeReference<ExecList> EXECS = new TypeReference<>() {};
  private static final TypeReference<CodeResult> CODE_RESULT = new TypeReference<>() {};

  private static final TypeReference<EgressInfo> EGRESS = new TypeReference<>() {};
  private static final TypeReference<EgressAccess> ACCESS = new TypeReference<>() {};
  private static final TypeReference<DecisionList> DECISIONS = new TypeReference<>() {};
  private static final TypeReference<ActivityList> ACTIVITY = new TypeReference<>() {};
  private static final TypeReference<SnapshotInfo> SNAPSHOT = new TypeReference<>() {};

  private static final TypeReference<SignedArtifacts> SIGNED = new TypeReference<>() {};
  private static final TypeReference<ArtifactManifest> MANIFEST = new TypeReference<>() {};
  static final TypeReference<BudgetInfo> BUDGET = new TypeReference<>() {};
  static final TypeReference<ArtifactList> ARTIFACTS = new TypeReference<>() {};

  private final Transport transport;
  private final SandboxInfo info;
  private final String path;

  Sandbox(Transport transport, SandboxInfo info) {
    this.transport = transport;
    this.info = info;
    this.path = Sandboxes.PATH + "/" + Transport.encode(info.id());
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
    return new Sandbox(transport, transport.get(path, INFO));
  }

  /** Changes what can be changed; names and types are those of {@code PATCH}. */
  public Sandbox update(Map<String, Object> changes) {
    return new Sandbox(transport, transport.patch(path, changes, INFO));
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
    return new Sandbox(
        transport, transport.post(path + "/restore", Map.of("snapshot_id", snapshotId), INFO));
  }

  /** A new sandbox like this one, with the files of this moment. */
  public Sandbox fork() {
    return change("fork");
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

  /** What it may use up in all, and has used. */
  public BudgetInfo budget() {
    return transport.get(path + "/budget", BUDGET);
  }

  /** Sets what it may use up in all; who is no administrator can only make that smaller. */
  public BudgetInfo budget(BudgetLimits limits) {
    return transport.put(path + "/budget", limits, BUDGET);
  }

  /** What it may reach, and what went through. */
  public EgressInfo egress() {
    return transport.get(path + "/egress", EGRESS);
  }

  /** Changes what it may reach, at once; connections that are no longer allowed are cut. */
  public EgressInfo egress(NetworkPolicy policy) {
    return transport.put(path + "/egress", policy, EGRESS);
  }

  /** What was decided since its machine started, latest first. */
  public List<EgressDecision> egressDecisions() {
    return transport.get(path + "/egress/decisions", DECISIONS).decisions();
  }

  /**
   * A way to use the network as this sandbox from elsewhere, where the server is set up for it.
   *
   * @param hosts all that may be reached with it, within the policy; empty: what that allows
   */
  public EgressAccess egressAccess(List<String> hosts, Duration life) {
    var body = new HashMap<String, Object>(Map.of("ttl_seconds", life.toSeconds()));
    if (!hosts.isEmpty()) {
      body.put("hosts", hosts);
    }
    return transport.post(path + "/egress/tokens", body, ACCESS);
  }

  private Sandbox change(String verb) {
    return new Sandbox(transport, transport.post(path + "/" + verb, Map.of(), INFO));
  }

  /** Ends every process in it and removes all its files. */
  public void delete() {
    transport.delete(path);
  }

  /** Runs a line of shell to its end. */
  public ExecResult run(String shell) {
    return run(ExecOptions.shell(shell));
  }

  /** Runs a command to its end. A command that fails is a result, not an exception. */
  public ExecResult run(ExecOptions options) {
    return transport.post(
        path + "/exec", options.withBackground(false), options.idempotencyKey(), EXEC_RESULT);
  }

  /**
   * Starts a command and follows it live. Closing the returned exec early kills the command, unless
   * it was started in the background or with an idempotency key.
   */
  public Exec exec(ExecOptions options) {
    return Exec.start(transport, path, options);
  }

  /** Starts a command that goes on by itself; find it again with {@link #execs()}. */
  public ExecInfo background(ExecOptions options) {
    return transport.post(
        path + "/exec", options.withBackground(true), options.idempotencyKey(), EXEC_INFO);
  }

  /** Commands that run and those that ran lately, newest first. */
  public List<ExecInfo> execs() {
    return transport.get(path + "/execs", EXECS).execs();
  }

  /** Follows a command that was started before: its output from an offset on, then live. */
  public Exec attach(String execId, long from) {
    return Exec.attach(transport, path, execId, from);
  }

  /** Runs code in the sandbox's own context of that language and waits for its end. */
  public CodeResult code(String language, String code) {
    return code(CodeOptions.of(language, code));
  }

  /** Runs code to its end. Code that fails is a result, not an exception. */
  public CodeResult code(CodeOptions options) {
    return transport.post(path + "/code", options, options.idempotencyKey(), CODE_RESULT);
  }

  /** Runs code and follows it live. Closing the stream early interrupts it, unless it has a key. */
  public CodeStream streamCode(CodeOptions options) {
    return CodeStream.start(transport, path + "/code", options);
  }

  /** The persistent interpreters of this sandbox. */
  public Contexts contexts() {
    return new Contexts(transport, path);
  }

  /** The files of this sandbox. */
  public Files files() {
    return new Files(transport, path);
  }

  record ArtifactList(List<ArtifactInfo> artifacts) {}

  private record DecisionList(List<EgressDecision> decisions) {}

  private record ExecList(List<ExecInfo> execs) {}

  private record ActivityList(List<ActivityInfo> activity) {}
}
