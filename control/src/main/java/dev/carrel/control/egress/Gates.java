package dev.carrel.control.egress;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.WayOut;
import dev.carrel.control.store.Database;
import dev.carrel.control.store.DiskFailures;
import dev.carrel.egress.Broker;
import dev.carrel.egress.EgressProxy;
import dev.carrel.egress.Fetch;
import dev.carrel.egress.Gate;
import dev.carrel.egress.HostPattern;
import dev.carrel.egress.PackageSources;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Presets;
import dev.carrel.egress.Rule;
import dev.carrel.egress.Target;
import dev.carrel.egress.TlsEnds;
import dev.carrel.egress.Tokens;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The gates of all machines. Each has a folder of its own, which its machine sees; the folder
 * outlives this process as the machine does, and the socket in it is bound anew.
 */
public final class Gates implements WayOut, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Gates.class);
  private static final String SOCKET = "egress.sock";
  private static final int MAX_RULES = 500;
  private static final int MAX_SOCKET_PATH = 107;
  private static final FileAttribute<Set<PosixFilePermission>> OURS = permissions("rwx------");
  // Users inside have ids of their own; the folder above keeps everybody else out.
  private static final Set<PosixFilePermission> PASSABLE =
      PosixFilePermissions.fromString("rwx--x--x");
  private static final int HTTPS = 443;
  private static final Duration NOTED = Duration.ofSeconds(2);
  // The internet: what the operator denies, and every address that is not public, stays out of it.
  private static final Policy EVERYWHERE =
      new Policy(Policy.Mode.OBSERVE, List.of(), List.of(), Set.of(), 0, 0);

  private final NetworkSettings settings;
  private final EgressProxy proxy;
  private final Presets presets;
  private final Map<String, String> environment;
  private final EgressStore store;
  private final Trust trust;
  private final Events events;
  private final Audit audit;
  private final Map<SandboxId, Opened> open = new ConcurrentHashMap<>();
  private final @Nullable TokenGate tokens;
  private final Fetch fetch;
  private final Gate own;
  private final Thread noting;
  private volatile boolean closed;
  private volatile Function<Sandbox, List<Rule>> grants = _ -> List.of();
  private volatile Function<Sandbox, Gate.Meter> meters = _ -> _ -> null;

  /**
   * @param authority where the key is, or will be, that vouches for hosts which secrets are bound
   *     to
   */
  public Gates(
      NetworkSettings settings, Path authority, Database database, Events events, Audit audit) {
    this.settings = settings;
    var packages = new PackageSources(settings.packages());
    this.presets = new KnownPresets(packages);
    this.environment = packages.environment();
    this.store = new EgressStore(database);
    this.trust =
        new Trust(
            new TlsEnds(authority, settings.upstreamCas()), settings.directory(), environment);
    this.events = events;
    this.audit = audit;
    try {
      Files.createDirectories(settings.directory(), OURS);
      this.proxy = new EgressProxy(settings.proxy(), presets);
      TokenSettings overTcp = settings.tokens();
      this.fetch = proxy.fetch(trust.ends());
      this.own = inner(proxy, List.of());
      this.tokens = overTcp == null ? null : new TokenGate(overTcp, proxy, this::find, audit);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot open the proxy in " + settings.directory(), e);
    }
    this.noting = Thread.ofVirtual().name("egress-noting").start(this::note);
  }

  private static final class Opened {
    private final Gate gate;
    private final DecisionLog log;
    private volatile EgressStore.Use before = EgressStore.Use.NONE;
    private volatile long noted;
    // Whose tokens open it; null until it is somebody's.
    private volatile Tokens.@Nullable Bearer bearer;

    Opened(Gate gate, DecisionLog log) {
      this.gate = gate;
      this.log = log;
    }

    EgressStore.Use use() {
      return before.plus(gate.sent(), gate.received());
    }
  }

  @Override
  public Policy settle(CreateSandbox.Network asked, Policy now) {
    Policy policy = asked.policy();
    Boolean enabled = asked.enabled();
    if (policy == null) {
      if (enabled == null || (enabled && now.opens())) {
        return now;
      }
      return enabled ? Policy.NOTHING.withPresets(settings.usualPresets()) : Policy.NOTHING;
    }
    if (Boolean.FALSE.equals(enabled) && policy.opens()) {
      throw SandboxException.invalid(
          "network_enabled", "is false, but the policy in 'network' opens the network");
    }
    // Of what callers ask for; what a person allows beyond it is added to a policy later.
    if (policy.allow().size() + policy.deny().size() > MAX_RULES) {
      throw SandboxException.invalid("network", "must have at most " + MAX_RULES + " rules");
    }
    for (String preset : policy.presets()) {
      if (!presets.names().contains(preset)) {
        throw SandboxException.invalid(
            "network.presets", "there is no such preset; one of " + presets.names());
      }
    }
    if (policy.mode() == Policy.Mode.OBSERVE && !settings.allowObserve()) {
      throw SandboxException.invalid(
              "network.mode", "observe lets everything pass, which this server does not allow")
          .withHint("the operator can allow it with egress.allow-observe");
    }
    return policy;
  }

  @Override
  public Path open(SandboxId id) {
    Path folder = settings.directory().resolve(id.value());
    Path socket = folder.resolve(SOCKET);
    if (socket.toString().getBytes(StandardCharsets.UTF_8).length > MAX_SOCKET_PATH) {
      throw new SandboxException(
              ErrorCode.ENGINE_FAILED, "the path " + socket + " is too long for a socket")
          .withHint("choose a run directory with a shorter name");
    }
    var log = new DecisionLog(id, events, audit);
    boolean fresh = false;
    try {
      if (!Files.isDirectory(folder)) {
        Files.createDirectory(folder, OURS);
        fresh = true;
        Files.setPosixFilePermissions(folder, PASSABLE);
      }
      Gate gate = proxy.open(id.value(), socket, log);
      gate.broker(Broker.UNKNOWN);
      Opened old = open.put(id, new Opened(gate, log));
      if (old != null) {
        throw new IllegalStateException("sandbox " + id + " has two gates");
      }
    } catch (IOException e) {
      if (fresh) {
        removeFolder(folder);
      }
      String what = "cannot open the way out of " + id;
      throw DiskFailures.isFull(e)
          ? DiskFailures.explained(what, e)
          : new SandboxException(ErrorCode.ENGINE_FAILED, what + ": " + e, e);
    }
    return socket;
  }

  @Override
  public void begin(Sandbox sandbox, boolean fresh) {
    Opened opened = require(sandbox.id());
    opened.log.owner(sandbox);
    opened.gate.owner(sandbox.tenant());
    opened.bearer = bearer(sandbox, null);
    if (!fresh) {
      EgressStore.Use before = usedBefore(sandbox.id());
      opened.before = before;
      opened.gate.usedBefore(before.sent() + before.received());
    }
    opened.gate.meter(meters.apply(sandbox));
    opened.gate.policy(effective(sandbox));
  }

  /** Its tokens end with the machine, whether or not the sandbox gets another. */
  private static Tokens.Bearer bearer(Sandbox sandbox, @Nullable List<HostPattern> hosts) {
    Instant started = sandbox.startedAt();
    long machine = started == null ? 0 : started.toEpochMilli();
    return new Tokens.Bearer(sandbox.id().value(), sandbox.tenant(), Long.toString(machine), hosts);
  }

  /** Requests of the server's own, through one of the gates. */
  public Fetch fetch() {
    return fetch;
  }

  /** The way out of who asks for himself and not for a sandbox. */
  public Gate ofServer() {
    return own;
  }

  /**
   * A way out of the server's, beside that of who asks for himself.
   *
   * @param named what it reaches although it is not the internet, where the operator opened that
   */
  public Gate ofServer(List<Rule> named) {
    return inner(proxy, named);
  }

  private static Gate inner(EgressProxy proxy, List<Rule> named) {
    Gate gate = proxy.inner("server", _ -> {});
    gate.policy(EVERYWHERE.withAllow(named));
    return gate;
  }

  /** Why the server does not let others lead it to this address of a host; empty: it may. */
  public Optional<String> closed(URI place, InetAddress address) {
    try {
      // What is opened by its port is opened for https: there is no other way to be led on.
      return proxy.closed(Target.parse(String.valueOf(place.getRawAuthority()), HTTPS), address);
    } catch (IllegalArgumentException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  /** A sandbox's way out. */
  public Gate of(Sandbox sandbox) {
    return of(sandbox.id());
  }

  /** As {@link #of(Sandbox)}. */
  public Gate of(SandboxId id) {
    Opened opened = open.get(id);
    if (opened == null) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE, "sandbox " + id + " has no machine; start it first");
    }
    return opened.gate;
  }

  /** Where packages come from; the first time this may take a moment. */
  public List<Rule> packageSources() {
    return presets.rules(KnownPresets.PACKAGES);
  }

  private @Nullable Gate find(Tokens.Bearer shown) {
    Opened opened = open.get(new SandboxId(shown.sandbox()));
    Tokens.Bearer own = opened == null ? null : opened.bearer;
    boolean same =
        own != null && own.tenant().equals(shown.tenant()) && own.machine().equals(shown.machine());
    return opened != null && same ? opened.gate : null;
  }

  /** The address of the proxy with a token for this sandbox's present machine in it. */
  String address(
      Caller caller, Sandbox sandbox, @Nullable List<HostPattern> hosts, Instant expires) {
    if (tokens == null) {
      throw new SandboxException(
              ErrorCode.NOT_SUPPORTED, "the proxy is not reached over TCP on this server")
          .withHint("the operator can open it with egress.listen=ADDRESS:PORT");
    }
    of(sandbox);
    String address = tokens.url(tokens.issue(bearer(sandbox, hosts), expires));
    var who =
        new AuditEntry.Who(
            sandbox.tenant(), caller.nameFor(sandbox.tenant()), sandbox.namespace(), sandbox.id());
    audit.write(
        AuditEntry.of(who, "egress.token", AuditEntry.Outcome.OK)
            .withDetails(Map.of("expires_at", expires.toString(), "hosts", String.valueOf(hosts))));
    return address;
  }

  /** A machine that cannot be taken over must not keep its gate: the next one has its own. */
  private EgressStore.Use usedBefore(SandboxId id) {
    try {
      return store.find(id);
    } catch (SandboxException e) {
      close(id);
      throw e;
    }
  }

  @Override
  public void apply(Sandbox sandbox) {
    require(sandbox.id()).gate.policy(effective(sandbox));
  }

  /** Who knows what a person allowed beyond a sandbox's policy; set once, before the first one. */
  public void grants(Function<Sandbox, List<Rule>> newGrants) {
    grants = newGrants;
  }

  /** Who counts what passes, besides the policy; set once, before the first sandbox. */
  public void meters(Function<Sandbox, Gate.Meter> newMeters) {
    meters = newMeters;
  }

  List<Rule> granted(Sandbox sandbox) {
    return grants.apply(sandbox);
  }

  private Policy effective(Sandbox sandbox) {
    Policy policy = sandbox.network();
    List<Rule> granted = granted(sandbox);
    return granted.isEmpty()
        ? policy
        : policy.withAllow(Stream.concat(policy.allow().stream(), granted.stream()).toList());
  }

  /** What the sandbox's gate has to know of secrets; until this is called nothing passes it. */
  public void broker(SandboxId id, Broker broker) {
    require(id).gate.broker(broker);
  }

  /** With what the proxy takes both ends of TLS. */
  public TlsEnds ends() {
    return trust.ends();
  }

  /**
   * Lets a sandbox know the authority that vouches for hosts which secrets are bound to.
   *
   * @param hostFiles whether it sees the host's own files
   * @return the variables that tell its programs
   */
  public Map<String, String> trust(SandboxId id, boolean hostFiles) {
    return trust.giveTo(settings.directory().resolve(id.value()), hostFiles);
  }

  private Opened require(SandboxId id) {
    Opened opened = open.get(id);
    if (opened == null) {
      throw new IllegalStateException("sandbox " + id + " has no gate");
    }
    return opened;
  }

  @Override
  public Map<String, String> environment() {
    return environment;
  }

  @Override
  public void close(SandboxId id) {
    Opened opened = open.remove(id);
    if (opened == null) {
      return;
    }
    proxy.close(opened.gate);
    noteOne(id, opened);
    removeFolder(settings.directory().resolve(id.value()));
  }

  /** Removes what an earlier process left of machines that are gone. */
  public void sweep() {
    try (Stream<Path> folders = Files.list(settings.directory())) {
      for (Path folder : folders.toList()) {
        boolean known = open.keySet().stream().anyMatch(id -> folder.endsWith(id.value()));
        if (!known && Files.isDirectory(folder)) {
          removeFolder(folder);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + settings.directory(), e);
    }
  }

  private static void removeFolder(Path folder) {
    try {
      for (Path path : List.of(folder.resolve(SOCKET), folder.resolve(Trust.FILE), folder)) {
        // Most often there is none, which Files would find out by an exception.
        if (path.toFile().exists()) {
          Files.deleteIfExists(path);
        }
      }
    } catch (IOException e) {
      // The next start sweeps it.
      LOG.warn("{} was not removed: {}", folder, e.toString());
    }
  }

  Presets presets() {
    return presets;
  }

  @Override
  public long moved(SandboxId id) {
    return use(id).map(use -> use.sent() + use.received()).orElse(0L);
  }

  /** How much went through; empty when the sandbox has no machine. */
  Optional<EgressStore.Use> use(SandboxId id) {
    return Optional.ofNullable(open.get(id)).map(Opened::use);
  }

  EgressStore store() {
    return store;
  }

  List<CountedDecision> decisions(SandboxId id) {
    Opened opened = open.get(id);
    return opened == null ? List.of() : opened.log.all();
  }

  private void note() {
    while (!closed) {
      LockSupport.parkNanos(NOTED.toNanos());
      open.forEach(Gates.this::noteOne);
    }
  }

  private void noteOne(SandboxId id, Opened opened) {
    EgressStore.Use use = opened.use();
    long total = use.sent() + use.received();
    if (total != opened.noted) {
      opened.noted = total;
      store.note(id, use);
    }
  }

  /** Ends all connections; the folders stay for the machines that go on. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(noting);
    new ArrayList<>(open.entrySet()).forEach(entry -> noteOne(entry.getKey(), entry.getValue()));
    proxy.close();
  }

  private static FileAttribute<Set<PosixFilePermission>> permissions(String text) {
    return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(text));
  }
}
