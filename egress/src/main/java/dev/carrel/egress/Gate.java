package dev.carrel.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * One sandbox's way out: its socket, its policy and what it has used. Safe for many threads. Until
 * a policy is set nothing passes.
 */
public final class Gate implements AutoCloseable {
  private static final int MAX_LOOKUPS = 2;

  private final String sandbox;
  private final Witness witness;
  private final @Nullable Path socket;
  private final @Nullable ServerSocketChannel listener;
  private final boolean reachesOpened;
  private final Set<Session> sessions = ConcurrentHashMap.newKeySet();
  private final LongAdder sent = new LongAdder();
  private final LongAdder received = new LongAdder();
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Pace pace = new Pace();
  private final Semaphore lookups = new Semaphore(MAX_LOOKUPS);
  private final Map<String, OwnHost> own = new ConcurrentHashMap<>();
  private volatile String owner;
  private volatile Policy policy = Policy.NOTHING;
  private volatile Broker broker = Broker.NONE;
  private volatile long usedBefore;
  private volatile Meter meter = _ -> null;

  /** Who is told of everything that was decided; must not block. */
  public interface Witness {
    void decided(Decision decision);
  }

  /** Counts bytes against what its owner may use up in all; must not block. */
  public interface Meter {
    /** Null, or why no more may pass. */
    @Nullable String pass(long bytes);
  }

  /**
   * @param listener on the socket; null: nobody comes in through it
   */
  Gate(
      String sandbox,
      @Nullable Path socket,
      @Nullable ServerSocketChannel listener,
      Witness witness) {
    this.sandbox = sandbox;
    this.owner = sandbox;
    this.socket = socket;
    this.listener = listener;
    this.witness = witness;
    this.reachesOpened = true;
  }

  /** The server's own, which nobody comes in through. */
  Gate(String name, Witness witness) {
    this.sandbox = name;
    this.owner = name;
    this.socket = null;
    this.listener = null;
    this.witness = witness;
    this.reachesOpened = false;
  }

  /** What the sandbox is called in messages. */
  public String sandbox() {
    return sandbox;
  }

  /** Whose sandbox it is: the connections of all sandboxes of one owner are counted together. */
  public void owner(String newOwner) {
    owner = newOwner;
  }

  String owner() {
    return owner;
  }

  /** Holds from the next request on; tunnels that it no longer allows are cut. */
  public void policy(Policy newPolicy) {
    policy = newPolicy;
    sessions.forEach(Session::recheck);
  }

  public Policy policy() {
    return policy;
  }

  /** What it has to know of secrets; holds from the next request or tunnel on. */
  public void broker(Broker newBroker) {
    broker = newBroker;
  }

  Broker broker() {
    return broker;
  }

  /** Throws when the text has something in it that must not leave. */
  void requireHarmless(String text) throws RefusedException {
    Filter filter = broker.out();
    filter.next(ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1)));
    requireHarmless(filter);
  }

  static void requireHarmless(Filter filter) throws RefusedException {
    String found = filter.found();
    if (found != null) {
      throw new RefusedException(Reason.CANARY, found);
    }
  }

  /**
   * Answers this sandbox's requests for {@link OwnHost#NAME} until what is returned is closed.
   *
   * @param place the first part of their path
   */
  public Serving serve(String place, OwnHost host) {
    own.put(place, host);
    return () -> own.remove(place);
  }

  /** Ends when it is closed. */
  public interface Serving extends AutoCloseable {
    @Override
    void close();
  }

  @Nullable OwnHost own(String place) {
    return own.get(place);
  }

  /** Counts what was used before this gate was opened. */
  public void usedBefore(long bytes) {
    usedBefore = bytes;
  }

  /** Who else counts. */
  public void meter(Meter newMeter) {
    meter = newMeter;
  }

  /** Bytes that went out through this gate. */
  public long sent() {
    return sent.sum();
  }

  /** Bytes that came in through this gate. */
  public long received() {
    return received.sum();
  }

  /**
   * Whether what the operator opened beside the internet is open to it: to a sandbox by whatever
   * lets it pass, to the server itself, which asks for anybody, only where a rule names it.
   */
  boolean reachesOpened(Target target) {
    return reachesOpened || policy.allow().stream().anyMatch(rule -> rule.names(target));
  }

  @Nullable ServerSocketChannel listener() {
    return listener;
  }

  /** Held while a name is looked up: all sandboxes share the few threads that do it. */
  Semaphore lookups() {
    return lookups;
  }

  Set<Session> sessions() {
    return sessions;
  }

  void decided(Asked asked, Decision.Outcome outcome, String rule) {
    decided(asked, outcome, null, rule, "");
  }

  void refused(Asked asked, RefusedException refusal) {
    decided(
        asked,
        refusal.reason().forbids() ? Decision.Outcome.DENIED : Decision.Outcome.FAILED,
        refusal.reason(),
        refusal.rule(),
        refusal.message());
  }

  /** For what could not even be read. */
  void refused(String protocol, RefusedException refusal) {
    witness.decided(
        new Decision(
            Instant.now(),
            protocol,
            "",
            0,
            null,
            null,
            Decision.Outcome.FAILED,
            refusal.reason(),
            refusal.rule(),
            refusal.message()));
  }

  private void decided(
      Asked asked,
      Decision.Outcome outcome,
      @Nullable Reason reason,
      @Nullable String rule,
      String detail) {
    witness.decided(
        new Decision(
            Instant.now(),
            asked.protocol(),
            asked.target().host().text(),
            asked.target().port(),
            asked.method(),
            asked.path(),
            outcome,
            reason,
            rule,
            detail));
  }

  /** Counts bytes on their way out, and waits as the policy's pace demands. */
  void send(long bytes) throws RefusedException {
    sent.add(bytes);
    spend(bytes);
  }

  void receive(long bytes) throws RefusedException {
    received.add(bytes);
    spend(bytes);
  }

  private void spend(long bytes) throws RefusedException {
    requireMeter(bytes);
    Policy now = policy;
    if (now.maxBytes() > 0) {
      requireBudget(now);
    }
    if (now.bytesPerSecond() > 0) {
      pace.take(bytes, now.bytesPerSecond());
    }
  }

  /** Whether it matters where bytes are cut: the policy has a budget or a pace for them. */
  boolean isBounded() {
    Policy now = policy;
    return now.maxBytes() > 0 || now.bytesPerSecond() > 0;
  }

  /** Throws when the policy's bytes are used up. */
  void requireBudget() throws RefusedException {
    requireMeter(0);
    Policy now = policy;
    if (now.maxBytes() > 0) {
      requireBudget(now);
    }
  }

  private void requireMeter(long bytes) throws RefusedException {
    String refusal = meter.pass(bytes);
    if (refusal != null) {
      throw new RefusedException(Reason.BUDGET, "budget", refusal);
    }
  }

  private void requireBudget(Policy now) throws RefusedException {
    if (usedBefore + sent.sum() + received.sum() > now.maxBytes()) {
      throw new RefusedException(
          Reason.BUDGET,
          "max_bytes " + now.maxBytes(),
          "this sandbox has used its " + now.maxBytes() + " bytes of network");
    }
  }

  boolean isClosed() {
    return closed.get();
  }

  /** Ends all its connections and removes its socket. */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    try {
      if (listener != null && socket != null) {
        listener.close();
        Files.deleteIfExists(socket);
      }
    } catch (IOException e) {
      throw new java.io.UncheckedIOException("cannot close " + socket, e);
    } finally {
      sessions.forEach(Session::close);
    }
  }
}
