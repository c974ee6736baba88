package dev.carrel.control.vault;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.egress.Gates;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.Events;
import dev.carrel.control.redact.Protected;
import dev.carrel.control.redact.Redaction;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Namespace;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.SandboxListener;
import dev.carrel.control.store.Database;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The secrets of all tenants. Values are encrypted at rest, leave only into the environment of a
 * process of their tenant and namespace, and from then on are kept from leaving that process's
 * sandbox again, also by a later server and from copies of its files. Safe for many threads.
 */
public final class Vault implements SandboxListener {
  private static final Logger LOG = LoggerFactory.getLogger(Vault.class);
  private static final int MAX_PER_TENANT = 1000;
  private static final int MAX_AT_ONCE = 64;

  private final VaultKey key;
  private final VaultSeal seal;
  private final VaultStore store;
  private final EnvironmentSecrets environment;
  private final Events events;
  private final Audit audit;
  private final Brokers brokers;
  private final Map<Place, SecretRow> rows = new ConcurrentHashMap<>();
  // Who changes something waits for the disk; who uses a secret waits for nobody.
  private final Object changing = new Object();
  private final boolean damaged;
  private volatile boolean traced;

  record Place(String tenant, String namespace, String name) {}

  /**
   * A value with all that is told of it elsewhere.
   *
   * @param hosts that requests may carry it to
   */
  record Opened(Protected value, SecretRow trace, List<String> hosts) {
    Opened {
      hosts = List.copyOf(hosts);
    }
  }

  /**
   * @param directory where the key and the seal are, if the settings bring no key
   */
  public Vault(
      VaultSettings settings,
      Path directory,
      Database database,
      Gates gates,
      Events events,
      Audit audit) {
    this.key = VaultKey.open(settings.key(), directory.resolve("vault.key"));
    this.seal = new VaultSeal(key, directory.resolve("vault.seal"));
    this.store = new VaultStore(database);
    this.environment = new EnvironmentSecrets(settings.environment());
    this.events = events;
    this.audit = audit;
    this.brokers = new Brokers(this, store, key, gates, audit);
    List<SecretRow> stored = store.all();
    stored.forEach(row -> rows.put(place(row), row));
    this.damaged = !seal.fits(stored) || stored.stream().anyMatch(row -> row.open(key) == null);
    this.traced = store.anyTrace();
    if (damaged) {
      LOG.error("the vault's rows are not those that this server wrote last: it stays closed");
    } else if (!stored.isEmpty()) {
      seal.settle(stored);
    }
  }

  /** Keeps a new one that processes get in their environment. */
  public Secret add(
      Caller caller, @Nullable String namespace, String name, String value, boolean canary) {
    return add(caller, namespace, name, value, canary, List.of());
  }

  /**
   * Keeps a new one.
   *
   * @param hosts where requests may carry it; where there are any, no process ever gets its value
   */
  public Secret add(
      Caller caller,
      @Nullable String namespace,
      String name,
      String value,
      boolean canary,
      List<String> hosts) {
    Place place = place(caller, namespace, name);
    Secret.checkValue(value);
    List<String> bound = Secret.checkHosts(hosts, canary);
    if (!bound.isEmpty()) {
      Secret.checkBrokered(value);
    }
    synchronized (changing) {
      requireWhole();
      if (rows.containsKey(place)) {
        throw new SandboxException(
                ErrorCode.WRONG_STATE,
                "name: there is a secret '%s' in namespace '%s'".formatted(name, place.namespace()))
            .withHint("rotate it to give it another value");
      }
      if (rows.keySet().stream().filter(p -> p.tenant().equals(place.tenant())).count()
          >= MAX_PER_TENANT) {
        throw new SandboxException(
            ErrorCode.LIMIT_REACHED, "a tenant has at most " + MAX_PER_TENANT + " secrets");
      }
      Instant now = now();
      SecretRow row =
          sealed(UUID.randomUUID().toString(), place, 1, canary, bound, value, now, now);
      put(row);
      note(caller, "secret.add", place);
      return row.view();
    }
  }

  /** Gives it another value; processes that run keep the one they have. */
  public Secret rotate(Caller caller, @Nullable String namespace, String name, String value) {
    Place place = place(caller, namespace, name);
    Secret.checkValue(value);
    synchronized (changing) {
      requireWhole();
      SecretRow old = find(place);
      if (!old.hosts().isEmpty()) {
        Secret.checkBrokered(value);
      }
      SecretRow row =
          sealed(
              old.id(),
              place,
              old.version() + 1,
              old.canary(),
              old.hosts(),
              value,
              old.createdAt(),
              now());
      put(row);
      note(caller, "secret.rotate", place);
      return row.view();
    }
  }

  public void delete(Caller caller, @Nullable String namespace, String name) {
    Place place = place(caller, namespace, name);
    synchronized (changing) {
      requireWhole();
      SecretRow old = find(place);
      var after = new ArrayList<>(rows.values());
      after.remove(old);
      seal.prepare(rows.values(), after);
      store.remove(old.id());
      rows.remove(place);
      settle();
      note(caller, "secret.delete", place);
    }
  }

  /** All of one namespace, by name; never a value. */
  public List<Secret> list(Caller caller, @Nullable String namespace) {
    String space = Namespace.of(namespace);
    var found = new LinkedHashMap<String, Secret>();
    environment
        .names(caller.tenant(), space)
        .forEach(
            name ->
                found.put(
                    name,
                    new Secret(
                        space, name, 0, false, List.of(), Secret.Source.ENVIRONMENT, null, null)));
    requireWhole();
    rows.values().stream()
        .filter(row -> row.tenant().equals(caller.tenant()) && row.namespace().equals(space))
        .forEach(row -> found.put(row.name(), row.view()));
    return found.values().stream().sorted(Comparator.comparing(Secret::name)).toList();
  }

  /**
   * The variables of a process that is about to start in the sandbox: values, which from here on do
   * not leave it, and placeholders of those that are bound to hosts.
   */
  public Map<String, String> inject(
      Caller caller, RunningSandbox sandbox, Collection<String> names) {
    if (names.isEmpty()) {
      return Map.of();
    }
    checkCount(names);
    var variables = new LinkedHashMap<String, String>();
    var all = new ArrayList<Opened>();
    for (String name : names) {
      Opened opened = open(sandbox.tenant(), sandbox.namespace(), name);
      all.add(opened);
      variables.put(
          name, opened.hosts().isEmpty() ? opened.value().value() : brokers.admit(sandbox, opened));
    }
    if (keepIn(sandbox, all)) {
      audit.write(
          AuditEntry.of(Who.in(sandbox, caller), "secret.use", Outcome.OK)
              .withSubject(String.join(", ", names)));
      events.tell(
          sandbox.tenant(),
          sandbox.namespace(),
          Event.VAULT_ACCESSED,
          sandbox.id(),
          Map.of("secrets", String.join(", ", names)));
    }
    return variables;
  }

  /** Keeps the values of a namespace out of what is told of the outside of its sandboxes. */
  public Redaction redaction(String tenant, String namespace) {
    var redaction = new Redaction(name -> LOG.warn("canary {} was seen on the host", name));
    if (damaged) {
      redaction.hideEverything();
      return redaction;
    }
    var values = new ArrayList<Protected>();
    environment.names(tenant, namespace).stream()
        .filter(name -> environment.isUsable(tenant, namespace, name))
        .forEach(name -> values.add(open(tenant, namespace, name).value()));
    rows.values().stream()
        .filter(row -> row.tenant().equals(tenant) && row.namespace().equals(namespace))
        .forEach(row -> values.add(open(tenant, namespace, row.name()).value()));
    redaction.protect(values);
    return redaction;
  }

  /** From now on these do not leave the sandbox; false when that was so before. */
  boolean keepIn(RunningSandbox sandbox, List<Opened> some) {
    List<Protected> values = some.stream().map(Opened::value).toList();
    if (sandbox.redaction().protects(values)) {
      return false;
    }
    traced = true;
    // First, so that a crash after the start of the process does not let them out.
    store.trace(sandbox.holder(), some.stream().map(Opened::trace).toList());
    sandbox.redaction().protect(values);
    return true;
  }

  /** Where requests may carry it; empty when it is not there any more. */
  List<String> hosts(Place place, String id) {
    SecretRow row = damaged ? null : rows.get(place);
    return row == null || !row.id().equals(id) ? List.of() : row.hosts();
  }

  /** The present value of a secret that is bound to hosts; null when it is not there any more. */
  @Nullable Opened findBrokered(Place place, String id) {
    return hosts(place, id).isEmpty()
        ? null
        : open(place.tenant(), place.namespace(), place.name());
  }

  /** Those of the sandbox's namespace that are bound to hosts, and that the test likes. */
  private List<Opened> brokered(RunningSandbox sandbox, Predicate<SecretRow> wanted) {
    return damaged
        ? List.of()
        : rows.values().stream()
            .filter(row -> row.tenant().equals(sandbox.tenant()))
            .filter(row -> row.namespace().equals(sandbox.namespace()) && !row.hosts().isEmpty())
            .filter(wanted)
            .map(row -> open(row.tenant(), row.namespace(), row.name()))
            .toList();
  }

  @Override
  public void requested(Caller caller, CreateSandbox request) {
    checkCount(request.secrets());
    String namespace = Namespace.of(request.namespace());
    request.secrets().forEach(name -> open(caller.tenant(), namespace, name));
  }

  @Override
  public void started(RunningSandbox sandbox) {
    if (traced && !recall(sandbox)) {
      return;
    }
    List<Opened> usual = brokered(sandbox, row -> sandbox.secrets().contains(row.name()));
    usual.forEach(opened -> brokers.admit(sandbox, opened));
    keepIn(sandbox, usual);
    brokers.open(sandbox);
  }

  /** What its files may hold and its processes have placeholders for; false: that is not known. */
  private boolean recall(RunningSandbox sandbox) {
    Set<String> placed = store.placed(sandbox.id());
    brokered(sandbox, row -> placed.contains(row.id()))
        .forEach(opened -> brokers.admit(sandbox, opened));
    var values = new ArrayList<Protected>();
    for (SecretRow trace : store.traces(sandbox.holder())) {
      byte[] plain = key.open(trace.sealed(), traceIdentity(trace));
      if (plain == null) {
        LOG.error("sandbox {}: what must not leave it is unknown: nothing will", sandbox.id());
        sandbox.redaction().hideEverything();
        return false;
      }
      var value =
          new Protected(trace.name(), new String(plain, StandardCharsets.UTF_8), trace.canary());
      values.add(value);
      if (placed.contains(trace.id())) {
        brokers.sent(sandbox, value);
      }
    }
    sandbox.redaction().protect(values);
    return true;
  }

  @Override
  public void ended(SandboxId id) {
    brokers.end(id);
  }

  @Override
  public void removed(SandboxId id) {
    // All that there is of it is rows.
  }

  @Override
  public void erase(Handle handle, SandboxId id) {
    if (traced) {
      VaultStore.forget(handle, id.value());
    }
  }

  private Opened open(String tenant, String namespace, String name) {
    Secret.checkName("secrets", name);
    var place = new Place(tenant, namespace, name);
    requireWhole();
    SecretRow row = rows.get(place);
    if (row != null) {
      String value = row.open(key);
      if (value == null) {
        throw closed();
      }
      return opened(row.id(), place, row.version(), row.canary(), row.hosts(), value);
    }
    String value = environment.find(tenant, namespace, name).orElseThrow(() -> absent(place));
    Secret.checkValue(value);
    // Its value can change between two servers without a version that would tell.
    long version =
        ByteBuffer.wrap(key.mark(value.getBytes(StandardCharsets.UTF_8))).getLong()
            & Long.MAX_VALUE;
    return opened("environment", place, version, false, List.of(), value);
  }

  private Opened opened(
      String id, Place place, long version, boolean canary, List<String> hosts, String value) {
    byte[] identity =
        SecretRow.identity(
            "trace",
            id,
            place.tenant(),
            place.namespace(),
            place.name(),
            version,
            canary,
            List.of());
    Instant now = now();
    return new Opened(
        new Protected(place.name(), value, canary),
        new SecretRow(
            id,
            place.tenant(),
            place.namespace(),
            place.name(),
            version,
            canary,
            List.of(),
            key.seal(value.getBytes(StandardCharsets.UTF_8), identity),
            now,
            now),
        hosts);
  }

  private static byte[] traceIdentity(SecretRow trace) {
    return SecretRow.identity(
        "trace",
        trace.id(),
        trace.tenant(),
        trace.namespace(),
        trace.name(),
        trace.version(),
        trace.canary(),
        List.of());
  }

  private SecretRow sealed(
      String id,
      Place place,
      long version,
      boolean canary,
      List<String> hosts,
      String value,
      Instant created,
      Instant updated) {
    byte[] identity =
        SecretRow.identity(
            "secret", id, place.tenant(), place.namespace(), place.name(), version, canary, hosts);
    return new SecretRow(
        id,
        place.tenant(),
        place.namespace(),
        place.name(),
        version,
        canary,
        hosts,
        key.seal(value.getBytes(StandardCharsets.UTF_8), identity),
        created,
        updated);
  }

  private void put(SecretRow row) {
    var after = new HashMap<>(rows);
    after.put(place(row), row);
    seal.prepare(rows.values(), after.values());
    store.put(row);
    rows.put(place(row), row);
    settle();
  }

  /** Not before the rows are on the disk: a power failure must not leave them behind the seal. */
  private void settle() {
    store.sync();
    seal.settle(rows.values());
  }

  private void note(Caller caller, String action, Place place) {
    audit.write(
        AuditEntry.of(
                new Who(caller.tenant(), caller.principal(), place.namespace(), null),
                action,
                Outcome.OK)
            .withSubject(place.name()));
  }

  private SecretRow find(Place place) {
    SecretRow row = rows.get(place);
    if (row == null) {
      throw absent(place);
    }
    return row;
  }

  private static SandboxException absent(Place place) {
    return new SandboxException(
            ErrorCode.SECRET_NOT_FOUND,
            "there is no secret '%s' in namespace '%s'".formatted(place.name(), place.namespace()))
        .withHint("carrel vault list shows the names; carrel vault add makes one");
  }

  private void requireWhole() {
    if (damaged) {
      throw closed();
    }
  }

  private static SandboxException closed() {
    return new SandboxException(
            ErrorCode.VAULT_DAMAGED,
            "the vault was changed from outside: rows or the key are not what this server wrote")
        .withHint(
            "restore database, key and seal of one backup; or, to begin anew, remove all rows of the"
                + " table secret and the file of the seal");
  }

  private static void checkCount(Collection<String> names) {
    if (names.size() > MAX_AT_ONCE) {
      throw SandboxException.invalid("secrets", "must be at most " + MAX_AT_ONCE);
    }
  }

  private static Place place(Caller caller, @Nullable String namespace, String name) {
    Secret.checkName("name", name);
    return new Place(caller.tenant(), Namespace.of(namespace), name);
  }

  private static Place place(SecretRow row) {
    return new Place(row.tenant(), row.namespace(), row.name());
  }

  private static Instant now() {
    return Instant.now().truncatedTo(ChronoUnit.MILLIS);
  }
}
