package dev.carrel.control.budget;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.budget.Budget.Kind;
import dev.carrel.control.budget.Budget.Scope;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Namespace;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxListener;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.store.Database;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Budgets of sandboxes and namespaces: CPU time, bytes through the proxy, executions. What has none
 * costs nothing. An execution is counted, and that is written, before it begins; bytes as they
 * pass; CPU time a few times a second, and a sandbox whose budget of it is used up is stopped. Safe
 * for many threads.
 */
public final class Budgets implements SandboxListener, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Budgets.class);
  private static final Duration SAMPLE = Duration.ofMillis(500);

  private final Database database;
  private final Sandboxes sandboxes;
  private final Audit audit;
  private final Events events;
  private final Map<Scope, Account> accounts = new ConcurrentHashMap<>();
  private final Map<SandboxId, Meter> meters = new ConcurrentHashMap<>();
  // Of machines that an earlier process started, until they are found again.
  private final Map<SandboxId, Long> countedBefore;
  private final Set<SandboxId> ending = ConcurrentHashMap.newKeySet();
  private final CountDownLatch stop = new CountDownLatch(1);
  private final Thread sampling;

  public Budgets(Database database, Sandboxes sandboxes, Audit audit, Events events) {
    this.database = database;
    this.sandboxes = sandboxes;
    this.audit = audit;
    this.events = events;
    database.read(BudgetStore::all).forEach(account -> accounts.put(account.scope(), account));
    this.countedBefore = new ConcurrentHashMap<>(database.read(BudgetStore::counted));
    this.sampling = Thread.ofVirtual().name("budgets").unstarted(this::sample);
  }

  /** To be called once the sandboxes of an earlier process are known. */
  public void begin() {
    sampling.start();
  }

  /** A machine, and how much of its CPU time has been counted. */
  private static final class Meter {
    private final RunningSandbox sandbox;
    private long counted;
    // Whether there is a row about it, or soon will be.
    private boolean noted;
    private boolean over;

    Meter(RunningSandbox sandbox, long counted, boolean noted) {
      this.sandbox = sandbox;
      this.counted = counted;
      this.noted = noted;
    }

    /** Nothing is counted any more. Returns whether there is a row to forget. */
    synchronized boolean end() {
      over = true;
      return noted;
    }
  }

  /** Nothing limited and nothing used when none was set. */
  public Budget ofSandbox(Caller caller, SandboxId id) {
    return view(scope(sandboxes.get(caller, id)));
  }

  public Budget ofNamespace(Caller caller, @Nullable String namespace) {
    return view(new Scope(caller.tenant(), Kind.NAMESPACE, Namespace.of(namespace)));
  }

  /**
   * Sets the budget of a sandbox. Who is no administrator can only narrow it.
   *
   * @param asked limits in place of those there were; null: none
   * @param reset whether counting begins anew
   */
  public Budget setSandbox(
      Caller caller, SandboxId id, Map<Resource, @Nullable Long> asked, boolean reset) {
    return set(caller, scope(sandboxes.get(caller, id)), asked, reset);
  }

  /** The budget of a sandbox that is about to be: it counts from the first moment on. */
  public void begin(Caller caller, SandboxId id, Map<Resource, Long> limits) {
    var asked = new HashMap<Resource, @Nullable Long>();
    limits.forEach(asked::put);
    set(caller, new Scope(caller.tenant(), Kind.SANDBOX, id.value()), asked, false);
  }

  /** Takes back what {@link #begin} gave one that did not come to be: another may get its id. */
  public void withdraw(Caller caller, SandboxId id) {
    var scope = new Scope(caller.tenant(), Kind.SANDBOX, id.value());
    synchronized (accounts) {
      accounts.remove(scope);
      database.write(
          handle -> {
            BudgetStore.remove(handle, scope);
            return null;
          });
    }
  }

  /** Of one that the caller may see; empty when it has none. */
  public Optional<Budget> find(Sandbox sandbox) {
    return Optional.ofNullable(accounts.get(scope(sandbox))).map(Account::view);
  }

  /** As {@link #setSandbox}, for all sandboxes of the caller's namespace together. */
  public Budget setNamespace(
      Caller caller,
      @Nullable String namespace,
      Map<Resource, @Nullable Long> asked,
      boolean reset) {
    var scope = new Scope(caller.tenant(), Kind.NAMESPACE, Namespace.of(namespace));
    return set(caller, scope, asked, reset);
  }

  /** Counts an execution that is about to begin, or says why it may not. */
  public void execution(SandboxId id) {
    Meter meter = meters.get(id);
    if (accounts.isEmpty() || meter == null) {
      return;
    }
    List<Account> own = accounts(meter.sandbox);
    if (own.isEmpty()) {
      return;
    }
    if (own.stream().anyMatch(account -> account.limits(Resource.CPU_SECONDS))) {
      requireMeasured(meter);
      count(meter);
    }
    var taken = new ArrayList<Account>();
    for (Account account : own) {
      boolean cpu = account.exhausted(Resource.CPU_SECONDS);
      if (cpu || !account.take(Resource.EXECUTIONS)) {
        taken.forEach(other -> other.giveBack(Resource.EXECUTIONS));
        throw refused(meter.sandbox, account, cpu ? Resource.CPU_SECONDS : Resource.EXECUTIONS);
      }
      taken.add(account);
    }
    database.write(
        handle -> {
          own.forEach(account -> BudgetStore.put(handle, account));
          return null;
        });
  }

  /** Counts bytes that pass; null, or why no more may. */
  public @Nullable String pass(Sandbox sandbox, long bytes) {
    if (accounts.isEmpty()) {
      return null;
    }
    String refusal = null;
    for (Scope scope : List.of(scope(sandbox), namespace(sandbox.tenant(), sandbox.namespace()))) {
      Account account = accounts.get(scope);
      if (account != null && !account.spend(Resource.EGRESS_BYTES, bytes)) {
        tell(sandbox.tenant(), sandbox.namespace(), sandbox.id(), account, Resource.EGRESS_BYTES);
        refusal = account.words(Resource.EGRESS_BYTES) + "; " + account.hint(Resource.EGRESS_BYTES);
      }
    }
    return refusal;
  }

  @Override
  public void started(RunningSandbox sandbox) {
    Long before = countedBefore.remove(sandbox.id());
    // One that was started anew counts from nothing again.
    long counted = before != null && sandbox.usage().cpuNanos() >= before ? before : 0;
    meters.put(sandbox.id(), new Meter(sandbox, counted, before != null));
  }

  @Override
  public void ended(SandboxId id) {
    Meter meter = meters.remove(id);
    if (meter != null && meter.end()) {
      database.later(handle -> BudgetStore.forget(handle, id));
    }
  }

  @Override
  public void removed(SandboxId id) {
    ended(id);
    if (countedBefore.remove(id) != null) {
      database.later(handle -> BudgetStore.forget(handle, id));
    }
    for (Scope scope : List.copyOf(accounts.keySet())) {
      if (scope.kind() == Kind.SANDBOX && scope.name().equals(id.value())) {
        accounts.remove(scope);
        database.later(handle -> BudgetStore.remove(handle, scope));
      }
    }
  }

  /** Writes what was counted. */
  @Override
  public void close() {
    stop.countDown();
    boolean interrupted = false;
    while (sampling.isAlive()) {
      try {
        sampling.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    look();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private Budget view(Scope scope) {
    Account account = accounts.get(scope);
    return (account == null ? new Account(scope, Map.of(), Map.of()) : account).view();
  }

  private Budget set(
      Caller caller, Scope scope, Map<Resource, @Nullable Long> asked, boolean reset) {
    Map<Resource, Long> limits = Budget.checked(asked);
    synchronized (accounts) {
      Account existing = accounts.get(scope);
      if (caller.role() != Caller.Role.ADMIN && existing != null) {
        requireNarrower(existing, limits, reset);
      }
      Account account = existing == null ? new Account(scope, Map.of(), Map.of()) : existing;
      database.write(
          handle -> {
            var next = new Account(scope, limits, reset ? Map.of() : used(account));
            BudgetStore.put(handle, next);
            audit.append(handle, entry(caller, scope, limits));
            return null;
          });
      if (existing == null) {
        skipPast(scope);
      }
      if (reset) {
        account.reset();
      }
      account.limits(limits);
      accounts.put(scope, account);
      return account.view();
    }
  }

  private static Map<Resource, Long> used(Account account) {
    var used = new HashMap<Resource, Long>();
    for (Resource resource : Resource.values()) {
      used.put(resource, account.used(resource));
    }
    return used;
  }

  /** What was used before there was a budget does not count. */
  private void skipPast(Scope scope) {
    for (Meter meter : meters.values()) {
      if (scopes(meter.sandbox).contains(scope) && accounts(meter.sandbox).isEmpty()) {
        synchronized (meter) {
          meter.counted = meter.sandbox.usage().cpuNanos();
        }
      }
    }
  }

  private static void requireNarrower(Account existing, Map<Resource, Long> limits, boolean reset) {
    boolean narrower =
        existing.limits().entrySet().stream()
            .allMatch(
                old -> {
                  Long limit = limits.get(old.getKey());
                  return limit != null && limit <= old.getValue();
                });
    if (reset || !narrower) {
      throw new SandboxException(
              ErrorCode.FORBIDDEN,
              "only an administrator may raise, lift or restart the budget of " + existing.scope())
          .withHint("whoever spends a budget can make it smaller, not larger");
    }
  }

  private static AuditEntry entry(Caller caller, Scope scope, Map<Resource, Long> limits) {
    var details = new HashMap<String, String>();
    limits.forEach((resource, limit) -> details.put(resource.wireName(), limit.toString()));
    boolean sandbox = scope.kind() == Kind.SANDBOX;
    return AuditEntry.of(
            new Who(
                scope.tenant(),
                caller.nameFor(scope.tenant()),
                sandbox ? Namespace.DEFAULT : scope.name(),
                sandbox ? new SandboxId(scope.name()) : null),
            "budget.set",
            Outcome.OK)
        .withSubject(scope.toString())
        .withDetails(details);
  }

  /** A budget that nobody can count is no budget. */
  private static void requireMeasured(Meter meter) {
    if (meter.sandbox.usage().equals(Machine.Usage.NONE)) {
      throw new SandboxException(
              ErrorCode.NOT_SUPPORTED,
              "the engine of sandbox "
                  + meter.sandbox.id()
                  + " cannot measure CPU time, for which"
                  + " there is a budget")
          .withHint("use an engine that isolates, or lift the budget of cpu_seconds");
    }
  }

  private SandboxException refused(RunningSandbox sandbox, Account account, Resource resource) {
    tell(sandbox.tenant(), sandbox.namespace(), sandbox.id(), account, resource);
    return account.refusal(resource);
  }

  private void tell(
      String tenant, String namespace, SandboxId id, Account account, Resource resource) {
    if (!account.tell(resource)) {
      return;
    }
    var details =
        Map.of(
            "budget", resource.wireName(),
            "scope", account.scope().toString(),
            "message", account.words(resource));
    events.tell(tenant, namespace, Event.RESOURCE_EXCEEDED, id, details);
    audit.later(
        AuditEntry.of(
                new Who(tenant, Who.SERVER, namespace, id),
                "budget.exhausted",
                Outcome.of("denied"))
            .withSubject(resource.wireName())
            .withDetails(details));
  }

  private void sample() {
    try {
      while (!stop.await(SAMPLE.toMillis(), TimeUnit.MILLISECONDS)) {
        try {
          look();
        } catch (RuntimeException e) {
          // The top of a loop: one bad round must not end the counting.
          LOG.error("budgets could not be counted", e);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void look() {
    if (accounts.isEmpty()) {
      return;
    }
    for (Meter meter : meters.values()) {
      List<Account> own = accounts(meter.sandbox);
      if (!own.isEmpty()) {
        count(meter);
        own.stream()
            .filter(account -> account.exhausted(Resource.CPU_SECONDS))
            .findFirst()
            .ifPresent(account -> end(meter.sandbox, account));
      }
    }
    List<Account> changed = accounts.values().stream().filter(Account::takeDirty).toList();
    if (!changed.isEmpty()) {
      database.later(handle -> changed.forEach(account -> BudgetStore.put(handle, account)));
    }
  }

  private void count(Meter meter) {
    synchronized (meter) {
      long now = meter.sandbox.usage().cpuNanos();
      long more = now - meter.counted;
      if (more <= 0 || meter.over) {
        return;
      }
      meter.counted = now;
      meter.noted = true;
      accounts(meter.sandbox).forEach(account -> account.spend(Resource.CPU_SECONDS, more));
      database.later(handle -> BudgetStore.counted(handle, meter.sandbox.id(), now));
    }
  }

  private void end(RunningSandbox sandbox, Account account) {
    tell(sandbox.tenant(), sandbox.namespace(), sandbox.id(), account, Resource.CPU_SECONDS);
    if (ending.add(sandbox.id())) {
      // A stop gives processes time: the others of a namespace must not work on meanwhile.
      Thread.ofVirtual().name(sandbox.id() + "-budget").start(() -> stop(sandbox));
    }
  }

  private void stop(RunningSandbox sandbox) {
    try {
      sandboxes.stop(Caller.user(sandbox.tenant(), Who.SERVER), sandbox.id());
    } catch (SandboxException e) {
      // Gone at this moment, or tried again in the next round.
      LOG.warn("sandbox {} used up its budget and was not stopped: {}", sandbox.id(), e.message());
    } finally {
      ending.remove(sandbox.id());
    }
  }

  private List<Account> accounts(RunningSandbox sandbox) {
    var own = new ArrayList<Account>(2);
    for (Scope scope : scopes(sandbox)) {
      Account account = accounts.get(scope);
      if (account != null) {
        own.add(account);
      }
    }
    return own;
  }

  private static List<Scope> scopes(RunningSandbox sandbox) {
    return List.of(
        new Scope(sandbox.tenant(), Kind.SANDBOX, sandbox.id().value()),
        namespace(sandbox.tenant(), sandbox.namespace()));
  }

  private static Scope scope(Sandbox sandbox) {
    return new Scope(sandbox.tenant(), Kind.SANDBOX, sandbox.id().value());
  }

  private static Scope namespace(String tenant, String namespace) {
    return new Scope(tenant, Kind.NAMESPACE, namespace);
  }
}
