package dev.carrel.server.grpc;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;

/** The calls that are under way: how many there may be, and how they end with the server. */
final class Calls {
  private static final Duration SHORT = Duration.ofSeconds(1);

  private final Set<NettyCall<?, ?>> open = ConcurrentHashMap.newKeySet();
  private final int max;
  private final Semaphore places;
  final CallLog log;
  final Failures failures = new Failures();
  private volatile boolean stopping;

  Calls(int max, CallLog log) {
    this.max = max;
    this.places = new Semaphore(max);
    this.log = log;
  }

  /** Empty: it may go on, and must {@link #leave} in the end. */
  Optional<Failures.End> enter(NettyCall<?, ?> call) {
    if (stopping) {
      return Optional.of(Failures.stopping());
    }
    if (!places.tryAcquire()) {
      return Optional.of(Failures.busy(max));
    }
    open.add(call);
    return Optional.empty();
  }

  void leave(NettyCall<?, ?> call) {
    open.remove(call);
    places.release();
  }

  boolean stopping() {
    return stopping;
  }

  /** Cancels streams and what takes long; what is short may finish. */
  void stop() {
    stopping = true;
    open.stream().filter(call -> call.lasts(SHORT)).forEach(NettyCall::cancel);
  }
}
