package dev.carrel.control.idempotency;

import dev.carrel.spi.DataSize;
import java.time.Duration;

/**
 * How long keys are remembered.
 *
 * @param maxKeys newest ones kept for one sandbox, and for the creates of one tenant; the result of
 *     each is kept as long
 * @param maxAge after which a key is free again; that of a command counts from its end
 * @param keptCells results of code in memory, of all sandboxes together
 */
public record KeySettings(int maxKeys, Duration maxAge, DataSize keptCells) {
  public static KeySettings defaults() {
    return new KeySettings(256, Duration.ofDays(1), DataSize.ofMebibytes(64));
  }
}
