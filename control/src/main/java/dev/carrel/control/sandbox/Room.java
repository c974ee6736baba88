package dev.carrel.control.sandbox;

import dev.carrel.control.sandbox.SandboxStore.Limit;
import dev.carrel.control.sandbox.SandboxStore.Reservation;
import dev.carrel.control.sandbox.SandboxStore.Reservation.Full;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** How many sandboxes there may be at once. */
final class Room {
  private static final int ATTEMPTS = 5;

  private final Supplier<SandboxSettings> settings;
  private final Telemetry telemetry;
  private @Nullable Eviction eviction;

  Room(Supplier<SandboxSettings> settings, Telemetry telemetry) {
    this.settings = settings;
    this.telemetry = telemetry;
  }

  /** Set once, before the first place is taken. */
  void eviction(Eviction newEviction) {
    eviction = newEviction;
  }

  /** Takes a place, another's if need be and allowed; throws when all are taken. */
  Reservation take(String tenant, Function<Limit, Reservation> attempt) {
    Limit limit = limit();
    for (int i = 1; ; i++) {
      Reservation reservation = attempt.apply(limit);
      if (!(reservation instanceof Full(boolean byTenant))) {
        return reservation;
      }
      if (eviction == null || i == ATTEMPTS || !eviction.makeRoom(byTenant ? tenant : "")) {
        throw full(byTenant);
      }
    }
  }

  /** Whether a place is left, or might be made, as far as that can be told without taking it. */
  boolean isLeft(String tenant, BiPredicate<Limit, Predicate<Full>> look) {
    Eviction made = eviction;
    return look.test(
        limit(), full -> made != null && made.mightMakeRoom(full.tenant() ? tenant : ""));
  }

  private Limit limit() {
    return new Limit(
        settings.get().maxSandboxesPerTenant(),
        settings.get().maxSandboxes(),
        settings.get().life().maxVolumeMbPerTenant() << 20);
  }

  private SandboxException full(boolean tenant) {
    telemetry.count("sandboxes_refused_by_limit");
    return tenant
        ? new SandboxException(
                ErrorCode.LIMIT_REACHED,
                "this tenant has %d sandboxes, the most it may have"
                    .formatted(settings.get().maxSandboxesPerTenant()))
            .withHint(
                "stop or delete one, or raise sandbox.max-count-per-tenant; idle ones stop by"
                    + " themselves")
        : new SandboxException(
                ErrorCode.LIMIT_REACHED,
                "this server has %d sandboxes, the most it may have"
                    .formatted(settings.get().maxSandboxes()))
            .withHint(
                "stop or delete one, or raise sandbox.max-count; idle ones stop by themselves");
  }
}
