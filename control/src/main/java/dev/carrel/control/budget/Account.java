package dev.carrel.control.budget;

import dev.carrel.control.budget.Budget.Scope;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** A budget in use: what is left is known at once, to all threads. */
final class Account {
  private final Scope scope;
  private final Map<Resource, AtomicLong> used = new EnumMap<>(Resource.class);
  private final Set<Resource> told = EnumSet.noneOf(Resource.class);
  private volatile Map<Resource, Long> limits;
  private volatile boolean dirty;

  /**
   * @param limits in callers' units
   * @param used as it is counted
   */
  Account(Scope scope, Map<Resource, Long> limits, Map<Resource, Long> used) {
    this.scope = scope;
    this.limits = Map.copyOf(limits);
    for (Resource resource : Resource.values()) {
      this.used.put(resource, new AtomicLong(used.getOrDefault(resource, 0L)));
    }
  }

  Scope scope() {
    return scope;
  }

  Map<Resource, Long> limits() {
    return limits;
  }

  synchronized void limits(Map<Resource, Long> newLimits) {
    limits = Map.copyOf(newLimits);
    told.clear();
  }

  void reset() {
    used.values().forEach(count -> count.set(0));
  }

  long used(Resource resource) {
    return counter(resource).get();
  }

  boolean limits(Resource resource) {
    return limits.containsKey(resource);
  }

  /** Counts what has been used already; false when that is more than there was. */
  boolean spend(Resource resource, long amount) {
    dirty |= amount > 0;
    long now = counter(resource).addAndGet(amount);
    Long limit = limits.get(resource);
    return limit == null || now <= limit * resource.unit();
  }

  /** Takes one if it is there. */
  boolean take(Resource resource) {
    Long limit = limits.get(resource);
    AtomicLong counter = counter(resource);
    if (limit == null) {
      counter.incrementAndGet();
      return true;
    }
    long most = limit * resource.unit();
    return counter.getAndUpdate(now -> now < most ? now + 1 : now) < most;
  }

  void giveBack(Resource resource) {
    counter(resource).decrementAndGet();
  }

  boolean exhausted(Resource resource) {
    Long limit = limits.get(resource);
    return limit != null && used(resource) >= limit * resource.unit();
  }

  /** Whether nobody was told yet that this one is used up; from now on somebody was. */
  synchronized boolean tell(Resource resource) {
    return told.add(resource);
  }

  boolean takeDirty() {
    boolean was = dirty;
    dirty = false;
    return was;
  }

  Budget view() {
    var seen = new EnumMap<Resource, Double>(Resource.class);
    used.forEach((resource, count) -> seen.put(resource, count.get() / (double) resource.unit()));
    return new Budget(scope, limits, seen);
  }

  SandboxException refusal(Resource resource) {
    return new SandboxException(ErrorCode.BUDGET_EXHAUSTED, words(resource))
        .withHint(hint(resource));
  }

  /** Which budget, how much is used, how much there was. */
  String words(Resource resource) {
    long used = used(resource) / resource.unit();
    return "%s has used up its budget: %s %d of %d"
        .formatted(scope, resource.wireName(), used, limits.getOrDefault(resource, 0L));
  }

  String hint(Resource resource) {
    String whose =
        scope.kind() == Budget.Kind.SANDBOX ? scope.name() : "--namespace " + scope.name();
    return "an administrator can raise it: carrel limits budget %s %s N"
        .formatted(whose, resource.flag());
  }

  private AtomicLong counter(Resource resource) {
    @Nullable AtomicLong counter = used.get(resource);
    if (counter == null) {
      throw new IllegalStateException("every resource is counted: " + resource);
    }
    return counter;
  }
}
