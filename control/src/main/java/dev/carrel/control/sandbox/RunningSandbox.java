package dev.carrel.control.sandbox;

import dev.carrel.control.event.ExecutionEvents;
import dev.carrel.control.redact.Redaction;
import dev.carrel.guest.ExecRequest;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.Guest;
import dev.carrel.guest.SignalScope;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.KernelFork;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Text;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A sandbox with its machine, as the other features use it. A sandbox that is started again has
 * another one of these. Counts in memory; the counts reach the database in batches.
 */
public final class RunningSandbox {
  private static final Logger LOG = LoggerFactory.getLogger(RunningSandbox.class);

  /** As /etc/passwd in every sandbox calls the one who runs its commands. */
  private static final String USER = "carrel";

  private static final String NOT_PROXIED = "localhost,127.0.0.1,::1";
  private static final int MAX_COMMAND = 120;
  private static final int SIGKILL = 9;
  private static final Duration DEATH_NOTICE = Duration.ofMillis(300);
  private static final Duration DEATH_POLL = Duration.ofMillis(5);
  private static final Duration SAMPLE = Duration.ofSeconds(2);
  // Two hundredths of a core: more than waiting and housekeeping take, less than any work.
  private static final long WORK_NANOS_PER_MILLI = 20_000;
  private static final Duration DEAF_AFTER = Duration.ofSeconds(2);
  private static final Duration ATTACH_PATIENCE = Duration.ofSeconds(5);

  private final Machine machine;
  private final Guest guest;
  private final Life life;
  private final Map<String, String> network;
  private final Sandbox.Counters before;
  private final LongAdder execCount = new LongAdder();
  private final LongAdder execMillis = new LongAdder();
  private final LongAdder uploaded = new LongAdder();
  private final LongAdder downloaded = new LongAdder();
  private final Redaction redaction;
  private final AtomicInteger busy = new AtomicInteger();
  private final AtomicBoolean ran = new AtomicBoolean();
  private final AtomicLong uses = new AtomicLong();
  private final Queue<Runnable> whenAwake = new ConcurrentLinkedQueue<>();
  private volatile Sandbox row;
  private volatile Map<String, String> environment;
  private Map<String, String> trusted = Map.of();
  private volatile long lastActivityMillis;
  private volatile @Nullable String lastCommand;
  private volatile boolean unsaved;
  private volatile boolean ending;
  private volatile boolean paused;
  private volatile boolean discarded;
  private volatile boolean works;
  private volatile long workedMillis;
  private long sampledMillis;
  private long sampledCpu;
  private long sampledMoved;
  private @Nullable Instant announced;

  RunningSandbox(Sandbox row, Machine machine, Life life) {
    this.row = row;
    this.machine = machine;
    this.guest = Guest.of(machine);
    this.life = life;
    this.before = row.counters();
    this.redaction = new Redaction(secret -> life.freezing().tripped(this, secret));
    this.network = proxy(machine.proxyPort(), life.wayOut().environment());
    this.environment = environment(network, row.envVars());
    // The clock may have been set back since the row was written: a use to come would last long.
    this.lastActivityMillis =
        Math.min(row.lastActivityAt().toEpochMilli(), life.now().toEpochMilli());
  }

  public SandboxId id() {
    return row.id();
  }

  /** Whose it is. */
  public String tenant() {
    return row.tenant();
  }

  public String namespace() {
    return row.namespace();
  }

  /** For what is told of it. */
  public ExecutionEvents.Where where() {
    return new ExecutionEvents.Where(tenant(), namespace(), id());
  }

  /** What holds it, in a word. */
  public String isolationName() {
    return machine.isolation().strength().name().toLowerCase(Locale.ROOT);
  }

  /** Names of those that all its processes get. */
  public List<String> secrets() {
    return row.secrets();
  }

  /** What its files are known by: they may outlive it, and be copied. */
  public String holder() {
    Sandbox.Volume volume = row.volume();
    return volume == null ? row.id().value() : volume.id().value();
  }

  /** The way out for everything that comes from inside it. */
  public Redaction redaction() {
    return redaction;
  }

  public Guest guest() {
    return guest;
  }

  /** What every command gets, its own variables not counted. */
  public Map<String, String> environment() {
    return environment;
  }

  /**
   * Variables by which its programs know another authority. From now on every command gets them;
   * what the owner set goes over them.
   */
  public synchronized void trust(Map<String, String> variables) {
    var all = new LinkedHashMap<>(network);
    all.putAll(variables);
    trusted = Map.copyOf(variables);
    environment = environment(all, row.envVars());
  }

  /** What every sandbox has before its owner adds to it. */
  public static Map<String, String> usualEnvironment() {
    return environment(proxy(Machine.PROXY_PORT, Map.of()), Map.of());
  }

  /** Puts a warm interpreter into the machine, where that is possible. */
  public boolean fork(KernelFork request) {
    return machine.fork(request);
  }

  /** Counters of the machine, to be compared before and after. */
  public Machine.Usage usage() {
    return machine.usage();
  }

  /** As {@link #usage}, for what is about to run; before the first there is nothing to count. */
  public Machine.Usage usageBefore() {
    return ran.getAndSet(true) ? usage() : Machine.Usage.NONE;
  }

  /** Whether it sees the host's own files, as only an engine that isolates nothing lets it. */
  public boolean sharesHostFiles() {
    return machine.isolation().strength() == Isolation.Strength.NONE;
  }

  public void countExec(Duration duration) {
    execCount.increment();
    execMillis.add(duration.toMillis());
    touch();
  }

  public void countUpload(long bytes) {
    uploaded.add(bytes);
    touch();
  }

  public void countDownload(long bytes) {
    downloaded.add(bytes);
    touch();
  }

  /** Notes what runs in it, for people who look. */
  public void runs(String command) {
    lastCommand = Text.printable(command.strip(), MAX_COMMAND);
  }

  SandboxUsage look() {
    return new SandboxUsage(snapshot(), machine.usage(), redaction.textOrNull(lastCommand));
  }

  /** Notes that somebody uses it. */
  public void touch() {
    uses.incrementAndGet();
    lastActivityMillis = life.now().toEpochMilli();
    unsaved = true;
  }

  /** Until the result is closed, the sandbox does not count as idle. */
  public Use use() {
    busy.incrementAndGet();
    touch();
    var open = new AtomicBoolean(true);
    return () -> {
      if (open.compareAndSet(true, false)) {
        busy.decrementAndGet();
        touch();
      }
    };
  }

  /**
   * What a failed call to the guest should throw: when the machine is dead, the sandbox is marked
   * so and the answer names the cause.
   */
  public SandboxException explain(SandboxException failure) {
    if (failure.code() != ErrorCode.GUEST_LOST) {
      return redacted(failure);
    }
    if (paused) {
      return new SandboxException(
              ErrorCode.WRONG_STATE, "sandbox " + id() + " was paused while it was used")
          .withHint("call again: that lets it go on");
    }
    return died() ? Failures.notRunning(life.died(this)) : redacted(failure);
  }

  /** A file's name can hold a secret, and a message a file's name. */
  private SandboxException redacted(SandboxException failure) {
    return redaction.active() ? failure.map(redaction::text) : failure;
  }

  /** Whether it stands still until somebody says that it may go on. */
  void requireNotFrozen() {
    String why = row.frozen();
    if (why != null) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "sandbox " + id() + " is frozen: " + why)
          .withHint("see what it did, then resume it yourself or delete it");
    }
  }

  /**
   * Starts a program, as {@link Guest#exec} does. When the answer is lost, the program may run all
   * the same, and nobody would ever hear of it: then it is ended.
   */
  public ExecSession exec(ExecId id, ExecRequest request) {
    try {
      return guest.exec(id, request);
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.GUEST_LOST) {
        endUnheard(id);
      }
      throw e;
    }
  }

  /** Ends what may run though its answer was lost, once the sandbox can be told; never waits. */
  public void endUnheard(ExecId id) {
    // Not on this thread, which may be interrupted: such a one reaches no guest.
    Thread.ofVirtual().name(id + "-end").start(() -> whenAwake(() -> end(id)));
  }

  private void end(ExecId id) {
    try {
      guest.signal(id, SIGKILL, SignalScope.TREE);
    } catch (SandboxException e) {
      LOG.debug("exec {} did not begin, or is gone: {}", id, e.message());
    }
  }

  /**
   * Joins a process whose former connection has just ended: the guest may learn of that a moment
   * after us and call the exec busy until then.
   */
  public ExecSession attach(ExecId id, long from) {
    return whenFree(() -> guest.attach(id, from));
  }

  /** As {@link #attach}, for what comes from now on. */
  public ExecSession attachAtEnd(ExecId id) {
    return whenFree(() -> guest.attachAtEnd(id));
  }

  private static ExecSession whenFree(Supplier<ExecSession> attach) {
    long end = System.nanoTime() + ATTACH_PATIENCE.toNanos();
    while (true) {
      try {
        return attach.get();
      } catch (SandboxException e) {
        if (e.code() != ErrorCode.WRONG_STATE || System.nanoTime() - end > 0) {
          throw e;
        }
        LockSupport.parkNanos(DEATH_POLL.toNanos());
      }
    }
  }

  /**
   * Whether the machine is known to be dead; a connection may break a moment before the engine
   * knows.
   */
  public boolean died() {
    long end = System.nanoTime() + DEATH_NOTICE.toNanos();
    while (!ending && !knownDead()) {
      // To one who is interrupted no pause is long.
      if (System.nanoTime() - end > 0 || Thread.currentThread().isInterrupted()) {
        return false;
      }
      LockSupport.parkNanos(DEATH_POLL.toNanos());
    }
    return true;
  }

  /**
   * Whoever asks has a failure of his own to tell of: that the engine fails too must not hide it.
   */
  private boolean knownDead() {
    try {
      return machine.death().isPresent();
    } catch (SandboxException e) {
      LOG.debug("nobody knows whether sandbox {} lives: {}", id(), e.message());
      return false;
    }
  }

  /** Whether all its processes are held; what is asked of its guest then waits. */
  public boolean paused() {
    return paused;
  }

  /** Runs this now, or if it is paused once it goes on; never, when it ends before. */
  public void whenAwake(Runnable work) {
    whenAwake.add(work);
    if (!paused) {
      runWaiting();
    }
  }

  /**
   * Ends the machine; whatever talks to it may know at once that this is why it fell silent.
   *
   * @param grace for processes to end by themselves; zero: none, as for what is frozen, which must
   *     not run for that
   */
  void destroy(Duration grace) {
    ending = true;
    if (grace.isPositive() && row.frozen() == null && machine.death().isEmpty()) {
      try {
        if (paused) {
          machine.resume();
        }
        Bounded.run("shutdown of " + id(), grace.plus(DEAF_AFTER), () -> guest.shutdown(grace));
      } catch (SandboxException e) {
        LOG.debug("sandbox {} does not listen to words: {}", id(), e.message());
      }
    }
    if (discarded) {
      machine.discard();
    } else {
      machine.destroy();
    }
  }

  /** Nobody will need its volume: it may go with the machine. */
  void discard() {
    discarded = true;
  }

  void paused(boolean newPaused) {
    paused = newPaused;
  }

  /** It may have been held, or not: from now on it is not, as far as that can be had. */
  void letGo(Duration patience) {
    try {
      Bounded.run("resume of " + id(), patience, machine::resume);
    } catch (RuntimeException e) {
      LOG.warn("sandbox {} may stand still: {}", id(), e.toString());
    }
  }

  /** It could not go on after all. */
  void holdAgain(Duration patience) {
    try {
      Bounded.run("pause of " + id(), patience, machine::pause);
    } catch (RuntimeException e) {
      LOG.warn("sandbox {} may run though it is paused: {}", id(), e.toString());
    }
  }

  /** It goes on after a pause. */
  void goOn() {
    // First what waited for that: whoever sees that it is not paused must find joined what runs.
    awake();
    paused = false;
    awake();
  }

  /**
   * Runs what waited for it to go on. Not on this thread, which may be interrupted: such a one
   * reaches no guest.
   */
  void awake() {
    if (!whenAwake.isEmpty()) {
      CompletableFuture.runAsync(
              this::runWaiting, work -> Thread.ofVirtual().name(id() + "-awake").start(work))
          .exceptionally(
              e -> {
                LOG.error("sandbox {}: something waited for it to go on, and failed", id(), e);
                return null;
              })
          .join();
    }
  }

  private void runWaiting() {
    for (Runnable work = whenAwake.poll(); work != null; work = whenAwake.poll()) {
      work.run();
    }
  }

  /** How often it was used; compared before and after. */
  long uses() {
    return uses.get();
  }

  Machine machine() {
    return machine;
  }

  Sandbox row() {
    return row;
  }

  synchronized void row(Sandbox newRow) {
    row = newRow;
    trust(trusted);
  }

  /** The sandbox with its present counters. */
  Sandbox snapshot() {
    return row.edit().activity(lastActivity(), counters()).build();
  }

  Instant lastActivity() {
    return Instant.ofEpochMilli(lastActivityMillis);
  }

  Sandbox.Counters counters() {
    return before.plus(
        new Sandbox.Counters(execCount.sum(), execMillis.sum(), uploaded.sum(), downloaded.sum()));
  }

  boolean takeUnsaved() {
    boolean was = unsaved;
    unsaved = false;
    return was;
  }

  /** Whether something is under way in it. */
  boolean busy() {
    return busy.get() > 0;
  }

  /** As {@link #busy}; what was under way when it was paused stands still, and keeps nothing. */
  boolean active() {
    return busy() && !paused;
  }

  /** When somebody used it last, or it worked by itself. */
  Instant usedAt() {
    return Instant.ofEpochMilli(Math.max(lastActivityMillis, workedMillis));
  }

  /**
   * Whether its processes have used the CPU or the network lately, though nobody asked; true also
   * until that is known. For one thread, which asks from time to time.
   */
  boolean sample() {
    long now = life.now().toEpochMilli();
    long elapsed = now - sampledMillis;
    if (elapsed < SAMPLE.toMillis()) {
      return true;
    }
    long cpu = machine.usage().cpuNanos();
    long used = cpu - sampledCpu;
    long moved = life.wayOut().moved(id());
    boolean talks = moved != sampledMoved;
    boolean comparable = elapsed < SAMPLE.toMillis() * 10;
    sampledMillis = now;
    sampledCpu = cpu;
    sampledMoved = moved;
    works = comparable && (talks || used > elapsed * WORK_NANOS_PER_MILLI);
    if (works) {
      workedMillis = now;
    }
    return works || !comparable;
  }

  /** Whether it did by the last {@link #sample}. */
  boolean works() {
    return works;
  }

  /** Whether this end was not announced yet; from now on it is. */
  boolean announce(Instant end) {
    boolean fresh = !end.equals(announced);
    announced = end;
    return fresh;
  }

  private static Map<String, String> environment(
      Map<String, String> network, Map<String, String> own) {
    var environment = new LinkedHashMap<String, String>();
    environment.put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    environment.put("HOME", Sandbox.WORKSPACE);
    environment.put("USER", USER);
    environment.put("LANG", "C.UTF-8");
    environment.putAll(network);
    environment.putAll(own);
    return Map.copyOf(environment);
  }

  private static Map<String, String> proxy(int port, Map<String, String> clients) {
    var variables = new LinkedHashMap<>(clients);
    // Not socks: clients without support for it fail even for what needs none.
    for (String name : List.of("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")) {
      variables.put(name, "http://127.0.0.1:" + port);
      variables.put(name.toLowerCase(Locale.ROOT), "http://127.0.0.1:" + port);
    }
    variables.put("NO_PROXY", NOT_PROXIED);
    variables.put("no_proxy", NOT_PROXIED);
    variables.put("NODE_USE_ENV_PROXY", "1");
    return variables;
  }

  /** A use of the sandbox that has begun. */
  public interface Use extends AutoCloseable {
    @Override
    void close();
  }
}
