package dev.carrel.control.sandbox;

import dev.carrel.control.sandbox.SandboxStore.Limit;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;

/** How many sandboxes there may be at once. */
final class Room {
  private final SandboxSettings settings;
  private final Telemetry telemetry;

  Room(SandboxSettings settings, Telemetry telemetry) {
    this.settings = settings;
    this.telemetry = telemetry;
  }

  Limit limit() {
    return new Limit(
        settings.maxSandboxesPerTenant(),
        settings.maxSandboxes(),
        settings.life().maxVolumeMbPerTenant() << 20);
  }

  SandboxException full(boolean tenant) {
    telemetry.count("sandboxes_refused_by_limit");
    return tenant
        ? new SandboxException(
                ErrorCode.LIMIT_REACHED,
                "this tenant has %d sandboxes, the most it may have"
                    .formatted(settings.maxSandboxesPerTenant()))
            .withHint(
                "stop or delete one, or raise sandbox.max-count-per-tenant; idle ones stop by"
                    + " themselves")
        : new SandboxException(
                ErrorCode.LIMIT_REACHED,
                "this server has %d sandboxes, the most it may have"
                    .formatted(settings.maxSandboxes()))
            .withHint(
                "stop or delete one, or raise sandbox.max-count; idle ones stop by themselves");
  }
}
