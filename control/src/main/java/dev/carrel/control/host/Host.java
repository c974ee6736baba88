package dev.carrel.control.host;

import dev.carrel.control.approval.Approval;
import dev.carrel.control.approval.Approval.Kind;
import dev.carrel.control.approval.Approval.Status;
import dev.carrel.control.approval.Approvals;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.RequestDigest;
import dev.carrel.control.host.HostFolders.Place;
import dev.carrel.control.redact.Redaction;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Namespace;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.vault.Vault;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The machine that this server runs on, lent out with care: only where the operator has said so, to
 * callers who were given the permission by name, for what is allowed always or by a person, and
 * never for what is blocked. Everything is put on record, what was refused too. Safe for many
 * threads.
 */
public final class Host {
  // Whoever could run this could decide about its own requests.
  private static final List<CommandPattern> ALWAYS_BLOCKED =
      List.of(CommandPattern.parse("carrel"));
  private static final int MAX_LISTED = 1000;

  private final HostSettings settings;
  private final Sandboxes sandboxes;
  private final Approvals approvals;
  private final Vault vault;
  private final Audit audit;
  private final Programs programs;
  private final HostFolders folders;
  private final HostFiles files;
  private final Semaphore places;
  private final @Nullable HostGroups groups;

  public Host(
      HostSettings settings,
      Path dataDirectory,
      Sandboxes sandboxes,
      Approvals approvals,
      Vault vault,
      Audit audit) {
    this.settings = settings;
    this.sandboxes = sandboxes;
    this.approvals = approvals;
    this.vault = vault;
    this.audit = audit;
    this.programs = new Programs(settings.path());
    this.folders = new HostFolders(settings, dataDirectory);
    this.files = new HostFiles(settings.maxFile().bytes());
    this.places = new Semaphore(settings.maxConcurrent());
    this.groups = settings.enabled() ? HostGroups.find().orElse(null) : null;
  }

  /** Whether anything of it is lent out. */
  public boolean enabled() {
    return settings.enabled();
  }

  /** What the caller may do. */
  public HostAccess access(Caller caller) {
    requirePermission(caller);
    return new HostAccess(
        settings.allowed().stream().map(CommandPattern::toString).toList(),
        settings.blocked().stream().map(CommandPattern::toString).toList(),
        folders.names(false),
        folders.names(true),
        approvals.list(caller, null, MAX_LISTED).stream()
            .filter(approval -> approval.kind() == Kind.HOST_COMMAND)
            .filter(
                approval ->
                    approval.status() == Status.PENDING || approval.status() == Status.APPROVED)
            .toList());
  }

  /**
   * What a caller asks a person to allow, in the one form in which it is compared and shown: a
   * pattern of commands, or {@code @read}, {@code @write} or {@code @list} and a path.
   */
  public String subject(Caller caller, String text) {
    requirePermission(caller);
    CommandPattern pattern = CommandPattern.parse("subject", text);
    if (!pattern.program().startsWith("@")) {
      requireUnblocked(List.of(pattern.program()), Path.of("/"));
      return pattern.toString();
    }
    List<String> words = Words.literal("subject", text);
    boolean known = List.of("@read", "@write", "@list").contains(words.getFirst());
    if (!known || words.size() != 2) {
      throw SandboxException.invalid("subject", "must be @read, @write or @list and one path");
    }
    folders.requireOpen(HostFolders.path("subject", words.get(1)));
    return pattern.toString();
  }

  /** The longest that a command may ask for. */
  public Duration maxTimeout() {
    return settings.maxTimeout();
  }

  /** Runs a command and waits for its end. Interrupting the thread kills it. */
  public HostResult exec(Caller caller, HostCommand command) throws InterruptedException {
    Acting acting = acting(caller, command.of());
    Duration limit = limit(command.timeout());
    // First: an approval for once is used up by what runs, not by what finds no place.
    if (!places.tryAcquire()) {
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED,
              settings.maxConcurrent() + " commands run on the host, as many as may")
          .withHint("try again when one has ended");
    }
    try {
      Path folder = judged(acting, "exec", command.toString(), () -> allowed(acting, command));
      return run(acting, command, folder, limit);
    } finally {
      places.release();
    }
  }

  private Path allowed(Acting acting, HostCommand command) {
    List<String> words = command.words();
    Path folder = folders.workFolder(command.folder());
    requireUnblocked(words, folder);
    if (settings.allowed().stream().noneMatch(pattern -> pattern.allows(words))
        && !granted(acting, words)) {
      throw new SandboxException(ErrorCode.FORBIDDEN, "nobody has allowed: " + command)
          .withHint("ask with: carrel host access request -- " + command);
    }
    return folder;
  }

  private boolean granted(Acting acting, List<String> words) {
    return approvals
        .use(
            Kind.HOST_COMMAND,
            subject -> CommandPattern.parse("subject", subject).allows(words),
            acting.party())
        .isPresent();
  }

  private void requireUnblocked(List<String> words, Path folder) {
    String program = words.getFirst();
    // By what it is called first: whether it exists is told of no program that is blocked.
    requireUnblocked(Set.copyOf(List.of(program, Programs.lastName(program))), words);
    requireUnblocked(programs.find(program).names(), words);
    if (folders.touches(words, folder)) {
      throw new SandboxException(
          ErrorCode.FORBIDDEN, "the server's own folder is blocked: nobody can allow it");
    }
  }

  private void requireUnblocked(Set<String> names, List<String> words) {
    for (List<CommandPattern> patterns : List.of(ALWAYS_BLOCKED, settings.blocked())) {
      for (CommandPattern pattern : patterns) {
        if (pattern.blocks(names, words)) {
          throw new SandboxException(
              ErrorCode.FORBIDDEN, "'" + pattern + "' is blocked: nobody can allow it");
        }
      }
    }
  }

  private Duration limit(@Nullable Duration asked) {
    if (asked == null) {
      return settings.timeout();
    }
    if (asked.compareTo(settings.maxTimeout()) > 0) {
      throw SandboxException.invalid(
          "timeout_seconds", "must be at most " + settings.maxTimeout().toSeconds());
    }
    return asked;
  }

  private HostResult run(Acting acting, HostCommand command, Path folder, Duration limit)
      throws InterruptedException {
    Redaction redaction = acting.redaction();
    String shown = redaction.text(command.toString());
    String digest = new RequestDigest().add(command.words()).add(folder.toString()).hex();
    // First: a server that dies with the command must not leave it unrecorded.
    audit.write(
        entry(acting, "host.start", shown, AuditEntry.Outcome.of("started")).withDigest(digest));
    List<String> words = new ArrayList<>(command.words());
    words.set(0, programs.find(words.getFirst()).file().toString());
    try (HostProcess process =
        HostProcess.start(
            words, folder, environment(folder), (int) settings.maxOutput().bytes(), group())) {
      HostProcess.Ended end = process.await(limit);
      var result =
          new HostResult(
              end.code(),
              redaction.cutText(new String(end.stdout(), StandardCharsets.UTF_8)),
              redaction.cutText(new String(end.stderr(), StandardCharsets.UTF_8)),
              end.timedOut(),
              end.cut(),
              end.duration());
      audit.write(
          entry(
                  acting,
                  "host.exec",
                  shown,
                  new AuditEntry.Outcome(
                      end.timedOut() ? "timed_out" : "returned",
                      result.code(),
                      result.duration(),
                      result.stdout(),
                      result.stderr(),
                      List.of(),
                      "none"))
              .withDigest(digest));
      return result;
    }
  }

  /** A group that cannot be made where they could be is no reason to run without one. */
  private @Nullable HostGroup group() {
    if (groups == null) {
      return null;
    }
    try {
      return groups.make(settings.maxMemory(), settings.maxProcesses());
    } catch (IOException e) {
      throw new SandboxException(
          ErrorCode.ENGINE_FAILED, "no control group for a command: " + e.getMessage(), e);
    }
  }

  private Map<String, String> environment(Path folder) {
    var variables = new LinkedHashMap<>(settings.environment());
    variables.put(
        "PATH",
        settings.path().stream()
            .map(Path::toString)
            .collect(Collectors.joining(File.pathSeparator)));
    variables.putIfAbsent("HOME", folder.toString());
    variables.putIfAbsent("LANG", "C.UTF-8");
    return variables;
  }

  /** Reads a part of a file. */
  public HostContent read(Caller caller, OnBehalf of, String path, long offset, int limit) {
    Acting acting = acting(caller, of);
    return judged(
        acting,
        "read",
        path,
        () ->
            done(
                acting,
                "read",
                path,
                files.read(
                    place(acting, "@read", path, false), offset, limit, acting.redaction())));
  }

  /** Writes a whole file; its folder must be there. Returns the size. */
  public long write(Caller caller, OnBehalf of, String path, byte[] content) {
    Acting acting = acting(caller, of);
    return judged(
        acting,
        "write",
        path,
        () ->
            done(acting, "write", path, files.write(place(acting, "@write", path, true), content)));
  }

  /** Lists a folder. */
  public List<HostFile> list(Caller caller, OnBehalf of, String path) {
    Acting acting = acting(caller, of);
    return judged(
        acting,
        "list",
        path,
        () -> done(acting, "list", path, files.list(place(acting, "@list", path, false))));
  }

  /** Copies a file. Returns the size. */
  public long copy(Caller caller, OnBehalf of, String from, String to) {
    Acting acting = acting(caller, of);
    return judged(
        acting,
        "copy",
        from + " → " + to,
        () ->
            done(
                acting,
                "copy",
                from + " → " + to,
                files.copy(
                    place(acting, "@read", from, false), place(acting, "@write", to, true))));
  }

  private Place place(Acting acting, String verb, String text, boolean write) {
    Path path = HostFolders.path("path", text);
    folders.requireOpen(path);
    // Before an approval for once is used up.
    Place place = folders.find(path, write).orElse(null);
    if (place != null) {
      return folders.requireOpen(place);
    }
    Place alone = folders.requireOpen(HostFolders.anywhere(path));
    if (!granted(acting, List.of(verb, path.toString()))) {
      String ask = Words.text(List.of(verb, path.toString()));
      throw new SandboxException(
              ErrorCode.FORBIDDEN, path + " is in no folder that is lent out for this")
          .withHint("ask with: carrel host access request -- " + ask);
    }
    return alone;
  }

  /** For whom, after the permission was looked at. */
  private Acting acting(Caller caller, OnBehalf of) {
    SandboxId id = of.sandbox();
    if (!enabled() || !caller.permissions().contains(Caller.Permission.HOST)) {
      audit.write(
          AuditEntry.of(AuditEntry.Who.of(caller), "host.refuse", AuditEntry.Outcome.of("denied")));
      requirePermission(caller);
    }
    Sandbox sandbox = id == null ? null : sandboxes.get(caller, id);
    if (sandbox == null) {
      return acting(
          new Approval.Party(
              caller.tenant(), caller.principal(), Namespace.of(of.namespace()), null));
    }
    if (of.namespace() != null && !of.namespace().equals(sandbox.namespace())) {
      throw SandboxException.invalid("namespace", "is not the sandbox's");
    }
    return acting(
        new Approval.Party(
            sandbox.tenant(), caller.nameFor(sandbox.tenant()), sandbox.namespace(), id));
  }

  private Acting acting(Approval.Party party) {
    return new Acting(party, vault.redaction(party.tenant(), party.namespace()));
  }

  private void requirePermission(Caller caller) {
    if (!enabled()) {
      throw new SandboxException(ErrorCode.FORBIDDEN, "this server gives no access to its host")
          .withHint("the operator enables it with host.enabled=true; see docs/host.md");
    }
    if (!caller.permissions().contains(Caller.Permission.HOST)) {
      throw new SandboxException(
              ErrorCode.FORBIDDEN, "this token lacks the permission 'host', which no role has")
          .withHint("an administrator gives it: carrel keys create NAME --permission host");
    }
  }

  /**
   * @param redaction made before anything is done: without it nothing could be told or recorded
   */
  private record Acting(Approval.Party party, Redaction redaction) {}

  /** Puts a refusal on record. */
  private <T> T judged(Acting acting, String verb, String subject, Supplier<T> work) {
    try {
      return work.get();
    } catch (SandboxException e) {
      audit.write(
          entry(
                  acting,
                  "host." + verb,
                  acting.redaction().text(subject),
                  AuditEntry.Outcome.of(
                      e.code() == ErrorCode.FORBIDDEN ? "denied" : e.code().wireName()))
              .withDetails(Map.of("reason", acting.redaction().text(e.message()))));
      throw e;
    }
  }

  private <T> T done(Acting acting, String verb, String subject, T result) {
    audit.write(
        entry(acting, "host." + verb, acting.redaction().text(subject), AuditEntry.Outcome.OK));
    return result;
  }

  private static AuditEntry entry(
      Acting acting, String action, String subject, AuditEntry.Outcome outcome) {
    Approval.Party party = acting.party();
    return AuditEntry.of(
            new AuditEntry.Who(
                party.tenant(), party.principal(), party.namespace(), party.sandbox()),
            action,
            outcome)
        .withSubject(subject);
  }
}
