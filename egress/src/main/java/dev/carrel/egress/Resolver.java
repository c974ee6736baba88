package dev.carrel.egress;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/** Addresses of hosts. Looking a name up holds a platform thread, so only a few are at it. */
final class Resolver implements AutoCloseable {
  private static final int THREADS = 8;
  private static final int WAITING = 256;
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final Map<Host, List<InetAddress>> pinned;
  private final Addresses addresses;
  private final Lookup lookup;
  private final Duration patience;
  private final ThreadPoolExecutor lookups =
      new ThreadPoolExecutor(
          THREADS,
          THREADS,
          30,
          TimeUnit.SECONDS,
          new ArrayBlockingQueue<>(WAITING),
          Thread.ofPlatform().daemon().name("egress-resolver-", 0).factory());

  /** Who knows the addresses of names; blocks. */
  interface Lookup {
    InetAddress[] addresses(String name) throws UnknownHostException;
  }

  Resolver(Map<Host, List<InetAddress>> pinned, Addresses addresses, Lookup lookup) {
    this(pinned, addresses, lookup, PATIENCE);
  }

  Resolver(
      Map<Host, List<InetAddress>> pinned, Addresses addresses, Lookup lookup, Duration patience) {
    this.patience = patience;
    this.lookup = lookup;
    this.pinned = pinned;
    this.addresses = addresses;
    lookups.allowCoreThreadTimeOut(true);
  }

  /**
   * Where the target is, every address checked: a name that also leads somewhere else than it may
   * leads nowhere.
   */
  List<InetAddress> resolve(Gate gate, Target target)
      throws RefusedException, InterruptedException {
    List<InetAddress> fixed = pinned.get(target.host());
    if (!gate.reachesOpened(target)) {
      List<InetAddress> found = fixed == null ? find(gate, target.host()) : fixed;
      for (InetAddress address : found) {
        addresses.requireInternet(target, address);
      }
      return found;
    }
    if (fixed != null) {
      return fixed;
    }
    List<InetAddress> found = find(gate, target.host());
    for (InetAddress address : found) {
      addresses.require(target, address);
    }
    return found;
  }

  private List<InetAddress> find(Gate gate, Host host)
      throws RefusedException, InterruptedException {
    Optional<InetAddress> literal = host.address();
    return literal.isPresent() ? List.of(literal.get()) : lookUp(gate, host);
  }

  private List<InetAddress> lookUp(Gate gate, Host host)
      throws RefusedException, InterruptedException {
    if (!gate.lookups().tryAcquire(patience.toMillis(), TimeUnit.MILLISECONDS)) {
      throw new RefusedException(
          Reason.TOO_MANY, "this sandbox has too many names looked up at once");
    }
    // The dot keeps the resolver from trying the host's own search domains.
    String name = host.hasDots() ? host.text() + "." : host.text();
    // Whoever takes it first gives the turn back: a lookup ends when it ends, whoever still waits.
    var begun = new AtomicBoolean();
    Future<InetAddress[]> answer;
    try {
      answer = lookups.submit(() -> lookUp(gate, name, begun));
    } catch (RejectedExecutionException e) {
      gate.lookups().release();
      throw new RefusedException(Reason.TOO_MANY, "too many names are being looked up");
    }
    try {
      return List.of(answer.get(patience.toMillis(), TimeUnit.MILLISECONDS));
    } catch (TimeoutException e) {
      throw new RefusedException(Reason.TIMED_OUT, "looking up " + host + " took too long");
    } catch (ExecutionException e) {
      if (e.getCause() instanceof UnknownHostException) {
        throw new RefusedException(Reason.UNRESOLVED, "there is no host " + host);
      }
      throw new IllegalStateException("the lookup of " + host + " failed", e);
    } finally {
      answer.cancel(false);
      if (begun.compareAndSet(false, true)) {
        gate.lookups().release();
      }
    }
  }

  private InetAddress[] lookUp(Gate gate, String name, AtomicBoolean begun)
      throws UnknownHostException {
    if (!begun.compareAndSet(false, true)) {
      throw new UnknownHostException(name);
    }
    try {
      return lookup.addresses(name);
    } finally {
      gate.lookups().release();
    }
  }

  @Override
  public void close() {
    lookups.shutdownNow();
  }
}
