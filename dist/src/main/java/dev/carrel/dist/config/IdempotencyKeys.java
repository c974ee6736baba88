package dev.carrel.dist.config;

import dev.carrel.control.idempotency.KeySettings;

/** The keys of {@link KeySettings}. */
final class IdempotencyKeys {
  private static final int MANY = 1 << 20;

  private IdempotencyKeys() {}

  static KeySettings read(Settings settings) {
    KeySettings usual = KeySettings.defaults();
    return new KeySettings(
        settings.number("idempotency.max-keys", usual.maxKeys(), 1, MANY),
        settings.duration("idempotency.max-age", usual.maxAge()),
        settings.size("idempotency.kept-cells", usual.keptCells()));
  }
}
