package dev.carrel.control.approval;

import dev.carrel.control.approval.Approval.Decision;
import dev.carrel.control.approval.Approval.Kind;
import dev.carrel.control.approval.Approval.Scope;
import dev.carrel.control.approval.Approval.Status;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Namespace;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxListener;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.store.Database;
import dev.carrel.egress.Rule;
import dev.carrel.spi.ApprovalId;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests that a person decides. They survive the server, end by themselves or with their sandbox,
 * and while one waits its sandbox is not idle. Only an administrator decides: whoever can be talked
 * into asking must not be able to answer. Safe for many threads.
 */
public final class Approvals implements SandboxListener, AutoCloseable {
  public static final int MAX_LISTED = 1000;

  private static final Logger LOG = LoggerFactory.getLogger(Approvals.class);
  private static final int MAX_PENDING = 100;
  private static final int MAX_TEXT = 1000;
  private static final Duration USUAL_PATIENCE = Duration.ofHours(1);
  private static final Duration MAX_PATIENCE = Duration.ofDays(7);
  // Connections cannot be counted as uses: one page is many of them.
  private static final Duration ONCE = Duration.ofMinutes(10);
  private static final Duration TRIED_AGAIN = Duration.ofSeconds(1);
  private static final Duration LONGEST_SLEEP = Duration.ofMinutes(1);

  private final Database database;
  private final Sandboxes sandboxes;
  private final Audit audit;
  private final Events events;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Map<ApprovalId, RunningSandbox.Use> awake = new HashMap<>();
  private final Thread ending;
  // Those that wait or are in force; read without the lock whenever a gate opens.
  private volatile Map<ApprovalId, Approval> open;
  private volatile boolean closed;
  private volatile BiFunction<Caller, String, String> commands =
      (caller, subject) -> {
        throw new SandboxException(ErrorCode.FORBIDDEN, "this server gives no access to its host");
      };

  public Approvals(Database database, Sandboxes sandboxes, Audit audit, Events events) {
    this.database = database;
    this.sandboxes = sandboxes;
    this.audit = audit;
    this.events = events;
    var found = new LinkedHashMap<ApprovalId, Approval>();
    database.read(ApprovalStore::open).forEach(approval -> found.put(approval.id(), approval));
    this.open = Map.copyOf(found);
    this.ending = Thread.ofVirtual().name("approvals").unstarted(this::endInTime);
  }

  /**
   * Who knows what commands on the host look like. Until it is told, none can be asked for.
   *
   * @param newCommands the one form of a subject in which it is compared and shown, or a refusal
   */
  public void commands(BiFunction<Caller, String, String> newCommands) {
    commands = newCommands;
  }

  /** To be called once the sandboxes of an earlier process are known. */
  public void begin() {
    open.values().stream().filter(this::isLeftBehind).forEach(this::leave);
    lock.lock();
    try {
      open.values().stream().filter(a -> a.status() == Status.PENDING).forEach(this::keepAwake);
    } finally {
      lock.unlock();
    }
    ending.start();
  }

  /** Asks. The same question twice is one; what is granted already is given back as it is. */
  public Approval ask(Caller caller, AskApproval ask) {
    Sandbox sandbox = ask.sandbox() == null ? null : sandboxes.get(caller, ask.sandbox());
    String namespace =
        sandbox != null && ask.namespace() == null
            ? sandbox.namespace()
            : Namespace.of(ask.namespace());
    check(ask, sandbox, namespace);
    String subject = subject(caller, ask);
    Instant now = now();
    var asked =
        new Approval(
            ApprovalId.random(),
            sandbox == null ? caller.tenant() : sandbox.tenant(),
            namespace,
            ask.sandbox(),
            ask.kind(),
            subject,
            ask.scope(),
            ask.reason(),
            caller.principal(),
            Status.PENDING,
            now,
            now.plus(ask.patience() == null ? USUAL_PATIENCE : ask.patience()),
            null);
    lock.lock();
    try {
      if (sandbox != null) {
        // Deleted since: whoever removes it looks for its questions after this.
        sandboxes.requireVisible(caller, sandbox.id());
      }
      Optional<Approval> same = open.values().stream().filter(a -> same(a, asked)).findFirst();
      if (same.isPresent()) {
        return same.get();
      }
      requireRoom(asked.tenant());
      database.write(
          handle -> {
            ApprovalStore.insert(handle, asked);
            audit.append(handle, entry(asked, caller, "ask", "ok"));
            return null;
          });
      keep(asked);
      keepAwake(asked);
    } finally {
      lock.unlock();
    }
    tell(asked, "requested");
    return asked;
  }

  public Approval get(Caller caller, ApprovalId id) {
    Approval kept = open.get(id);
    Approval found =
        kept != null ? kept : database.read(handle -> ApprovalStore.find(handle, id)).orElse(null);
    if (found == null || !visible(caller, found)) {
      throw new SandboxException(ErrorCode.APPROVAL_NOT_FOUND, "there is no approval " + id);
    }
    return found;
  }

  /** Newest first. */
  public List<Approval> list(Caller caller, @Nullable Status status, int limit) {
    String tenant = caller.role() == Caller.Role.ADMIN ? null : caller.tenant();
    return database.read(handle -> ApprovalStore.list(handle, tenant, status, limit));
  }

  /** As it is when it is decided, or has ended, or the patience is over. */
  public Approval await(Caller caller, ApprovalId id, Duration patience)
      throws InterruptedException {
    long deadline = System.nanoTime() + patience.toNanos();
    lock.lock();
    try {
      while (true) {
        Approval now = get(caller, id);
        long left = deadline - System.nanoTime();
        if (now.status() != Status.PENDING || left <= 0 || closed) {
          return now;
        }
        changed.await(left, TimeUnit.NANOSECONDS);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Decides; for administrators.
   *
   * @param scope null: the one that was asked for
   * @param validFor how long it holds; null: as long as the scope says
   */
  public Approval decide(
      Caller caller,
      ApprovalId id,
      boolean approve,
      @Nullable Scope scope,
      @Nullable Duration validFor,
      String note) {
    if (caller.role() != Caller.Role.ADMIN) {
      throw new SandboxException(ErrorCode.FORBIDDEN, "only an administrator may decide")
          .withHint("a person decides with: carrel approvals approve " + id);
    }
    text("note", note);
    Approval asked = get(caller, id);
    if (asked.status() != Status.PENDING) {
      throw over(asked);
    }
    Scope granted = scope == null ? asked.scope() : scope;
    if (asked.sandbox() == null && !fits(asked.kind(), granted)) {
      throw SandboxException.invalid("scope", "must be namespace: it is about no sandbox");
    }
    Instant now = now();
    Duration term = validFor == null && granted == Scope.ONCE ? ONCE : validFor;
    var next =
        new Approval(
            asked.id(),
            asked.tenant(),
            asked.namespace(),
            asked.sandbox(),
            asked.kind(),
            asked.subject(),
            granted,
            asked.reason(),
            asked.requester(),
            approve ? Status.APPROVED : Status.DENIED,
            asked.createdAt(),
            approve && term != null ? now.plus(term) : null,
            new Decision(now, caller.principal(), note));
    move(asked, next, caller, approve ? "approve" : "deny");
    return next;
  }

  /** Takes a request back, or what was granted; who asked may, and so may an administrator. */
  public Approval withdraw(Caller caller, ApprovalId id) {
    Approval now = get(caller, id);
    if (now.status() != Status.PENDING && now.status() != Status.APPROVED) {
      throw over(now);
    }
    Approval next = with(now, Status.WITHDRAWN);
    move(now, next, caller, "withdraw");
    return next;
  }

  /**
   * What a person has allowed that covers this; what was allowed once is used up by it.
   *
   * @param covers told the subject of an approval
   */
  public Optional<Approval> use(Kind kind, Predicate<String> covers, Approval.Party party) {
    Instant now = Instant.now();
    // What stays is used before what one use takes away.
    List<Approval> granted =
        open.values().stream()
            .filter(approval -> approval.grants(kind, party, now))
            .filter(approval -> covers.test(approval.subject()))
            .sorted(Comparator.comparing(Approval::scope).reversed())
            .toList();
    for (Approval approval : granted) {
      if (approval.scope() != Scope.ONCE) {
        return Optional.of(approval);
      }
      try {
        Approval used = with(approval, Status.USED);
        move(approval, used, null, "use");
        return Optional.of(used);
      } catch (SandboxException e) {
        // Somebody else used it at this moment.
        LOG.debug("approval {} is used: {}", approval.id(), e.message());
      }
    }
    return Optional.empty();
  }

  /** What a sandbox may reach beyond its policy. */
  public List<Rule> rules(Sandbox sandbox) {
    if (open.isEmpty()) {
      return List.of();
    }
    Instant now = Instant.now();
    return open.values().stream()
        .filter(approval -> approval.grants(Kind.EGRESS, sandbox, now))
        .map(approval -> Rule.parse(approval.subject()))
        .toList();
  }

  @Override
  public void ended(SandboxId id) {
    // It may be started again, and what was asked for it is asked still.
  }

  /** Nobody can use what would be allowed to this sandbox alone, and nobody need decide it. */
  @Override
  public void removed(SandboxId id) {
    List<Approval> left;
    lock.lock();
    try {
      left =
          open.values().stream()
              .filter(approval -> id.equals(approval.sandbox()))
              .filter(approval -> approval.scope() != Scope.NAMESPACE)
              .toList();
    } finally {
      lock.unlock();
    }
    left.forEach(this::leave);
  }

  private boolean isLeftBehind(Approval approval) {
    SandboxId id = approval.sandbox();
    return id != null && approval.scope() != Scope.NAMESPACE && !sandboxes.exists(id);
  }

  private void leave(Approval approval) {
    moveUnlessOver(approval, Status.WITHDRAWN, "withdraw");
  }

  @Override
  public void close() {
    closed = true;
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    boolean interrupted = false;
    while (ending.isAlive()) {
      try {
        ending.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static void check(AskApproval ask, @Nullable Sandbox sandbox, String namespace) {
    text("reason", ask.reason());
    if (sandbox == null && !fits(ask.kind(), ask.scope())) {
      throw SandboxException.invalid("sandbox_id", "is required unless the scope is namespace");
    }
    if (sandbox != null && !namespace.equals(sandbox.namespace())) {
      throw SandboxException.invalid("namespace", "is not the sandbox's");
    }
    Duration patience = ask.patience();
    if (patience != null && (!patience.isPositive() || patience.compareTo(MAX_PATIENCE) > 0)) {
      throw SandboxException.invalid(
          "expires_seconds", "must be between 1 and " + MAX_PATIENCE.toSeconds());
    }
  }

  /** Whether it can be about no sandbox: uses of a command on the host can be counted without. */
  private static boolean fits(Kind kind, Scope scope) {
    return scope == Scope.NAMESPACE || (scope == Scope.ONCE && kind == Kind.HOST_COMMAND);
  }

  /** In the one form in which it is compared and shown. */
  private String subject(Caller caller, AskApproval ask) {
    if (ask.subject().isBlank() || ask.subject().length() > MAX_TEXT) {
      throw SandboxException.invalid("subject", "must have 1 to " + MAX_TEXT + " characters");
    }
    if (ask.kind() == Kind.HOST_COMMAND) {
      String canonical = commands.apply(caller, ask.subject());
      text("subject", canonical);
      return canonical;
    }
    if (ask.kind() != Kind.EGRESS) {
      text("subject", ask.subject());
      return ask.subject();
    }
    try {
      return Rule.parse(ask.subject()).toString();
    } catch (IllegalArgumentException e) {
      throw SandboxException.invalid("subject", String.valueOf(e.getMessage()));
    }
  }

  private static void text(String field, String value) {
    if (value.length() > MAX_TEXT) {
      throw SandboxException.invalid(field, "must have at most " + MAX_TEXT + " characters");
    }
    // A person reads it in a terminal, where these could hide or replace what stands there.
    String lines = value.replace("\r\n", "\n");
    if (lines.codePoints().anyMatch(c -> Character.isISOControl(c) && c != '\n' && c != '\t')) {
      throw SandboxException.invalid(field, "holds a control character");
    }
  }

  private void requireRoom(String tenant) {
    long waiting =
        open.values().stream()
            .filter(a -> a.status() == Status.PENDING && a.tenant().equals(tenant))
            .count();
    if (waiting >= MAX_PENDING) {
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED, waiting + " requests of this tenant wait for a decision")
          .withHint("decide or withdraw some: carrel approvals");
    }
  }

  private static boolean same(Approval one, Approval other) {
    return one.kind() == other.kind()
        && one.scope() == other.scope()
        && one.tenant().equals(other.tenant())
        && one.namespace().equals(other.namespace())
        && one.subject().equals(other.subject())
        && Objects.equals(one.sandbox(), other.sandbox())
        && (!one.isPersonal() || one.requester().equals(other.requester()))
        && (one.endsAt() == null || one.endsAt().isAfter(Instant.now()));
  }

  private static Approval with(Approval approval, Status status) {
    return new Approval(
        approval.id(),
        approval.tenant(),
        approval.namespace(),
        approval.sandbox(),
        approval.kind(),
        approval.subject(),
        approval.scope(),
        approval.reason(),
        approval.requester(),
        status,
        approval.createdAt(),
        approval.endsAt(),
        approval.decision());
  }

  /**
   * Moves it on, tells whoever waits, and lets it take effect.
   *
   * @param caller null: the server itself
   */
  private void move(Approval from, Approval next, @Nullable Caller caller, String verb) {
    lock.lock();
    try {
      boolean moved =
          database.write(
              handle -> {
                boolean first = ApprovalStore.move(handle, from, next);
                if (first) {
                  audit.append(handle, entry(next, caller, verb, next.status().wireName()));
                }
                return first;
              });
      if (!moved) {
        throw over(from);
      }
      keep(next);
      RunningSandbox.Use use = awake.remove(next.id());
      if (use != null) {
        use.close();
      }
    } finally {
      lock.unlock();
    }
    tell(next, next.status().wireName());
    boolean matters = from.status() == Status.APPROVED || next.status() == Status.APPROVED;
    if (next.kind() == Kind.EGRESS && matters) {
      sandboxes.networkChanged(
          row ->
              row.tenant().equals(next.tenant())
                  && (next.scope() == Scope.NAMESPACE
                      ? row.namespace().equals(next.namespace())
                      : row.id().equals(next.sandbox())));
    }
  }

  private void keep(Approval approval) {
    var now = new LinkedHashMap<>(open);
    if (approval.status() == Status.PENDING || approval.status() == Status.APPROVED) {
      now.put(approval.id(), approval);
    } else {
      now.remove(approval.id());
    }
    open = Map.copyOf(now);
    changed.signalAll();
  }

  private void keepAwake(Approval approval) {
    SandboxId id = approval.sandbox();
    Optional<RunningSandbox> live = id == null ? Optional.empty() : sandboxes.running(id);
    live.ifPresent(sandbox -> awake.put(approval.id(), sandbox.use()));
  }

  private static boolean visible(Caller caller, Approval approval) {
    return caller.role() == Caller.Role.ADMIN || approval.tenant().equals(caller.tenant());
  }

  private static SandboxException over(Approval approval) {
    return new SandboxException(
        ErrorCode.WRONG_STATE, "approval " + approval.id() + " is decided or has ended");
  }

  private void tell(Approval approval, String what) {
    events.tell(
        approval.tenant(),
        approval.namespace(),
        approval.kind().wireName() + "." + what,
        approval.sandbox(),
        Map.of(
            "approval", approval.id().value(),
            "subject", approval.subject(),
            "scope", approval.scope().wireName()));
  }

  private static AuditEntry entry(
      Approval approval, @Nullable Caller caller, String verb, String outcome) {
    return AuditEntry.of(
            new AuditEntry.Who(
                approval.tenant(),
                caller == null ? AuditEntry.Who.SERVER : caller.nameFor(approval.tenant()),
                approval.namespace(),
                approval.sandbox()),
            "approval." + verb,
            AuditEntry.Outcome.of(outcome))
        .withSubject(approval.subject())
        .withDetails(
            Map.of(
                "approval", approval.id().value(),
                "kind", approval.kind().wireName(),
                "scope", approval.scope().wireName(),
                "reason", approval.reason()));
  }

  private void endInTime() {
    while (!closed) {
      try {
        open.values().stream().filter(Approvals::due).forEach(this::end);
      } catch (RuntimeException e) {
        // The top of a loop: one that cannot be ended must not keep the others from it.
        LOG.error("an approval could not be ended", e);
      }
      lock.lock();
      try {
        if (!closed) {
          changed.await(untilNext().toMillis(), TimeUnit.MILLISECONDS);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      } finally {
        lock.unlock();
      }
    }
  }

  private void end(Approval approval) {
    moveUnlessOver(approval, Status.EXPIRED, "expire");
  }

  private void moveUnlessOver(Approval approval, Status status, String verb) {
    try {
      move(approval, with(approval, status), null, verb);
    } catch (SandboxException e) {
      // Decided or taken back at this moment.
      LOG.debug("approval {} did not {}: {}", approval.id(), verb, e.message());
    }
  }

  /** As it is stored, so that what is kept and what is read again are the same. */
  private static Instant now() {
    return Instant.now().truncatedTo(ChronoUnit.MILLIS);
  }

  private static boolean due(Approval approval) {
    Instant end = approval.endsAt();
    return end != null && !end.isAfter(Instant.now());
  }

  private Duration untilNext() {
    return open.values().stream()
        .map(Approval::endsAt)
        .filter(Objects::nonNull)
        .map(end -> Duration.between(Instant.now(), end).plusMillis(1))
        .filter(left -> left.compareTo(LONGEST_SLEEP) < 0)
        .min(Duration::compareTo)
        // One that is due was just tried: on a full disk the next try fails as well.
        .map(left -> left.isPositive() ? left : TRIED_AGAIN)
        .orElse(LONGEST_SLEEP);
  }
}
