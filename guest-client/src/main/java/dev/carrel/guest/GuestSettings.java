package dev.carrel.guest;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How to talk to a guest.
 *
 * @param patience how long one wait for the guest may last where it owes an answer: connecting, the
 *     first answer to an exec, each step of a file operation. A program's own silence is not
 *     limited by it
 * @param token what the guest was started with; null where its socket is the proof
 */
public record GuestSettings(Duration patience, @Nullable String token) {
  public static final GuestSettings DEFAULT = new GuestSettings(Duration.ofSeconds(30), null);

  public GuestSettings {
    if (!patience.isPositive()) {
      throw new IllegalArgumentException("patience must be positive: " + patience);
    }
  }

  public GuestSettings withPatience(Duration newPatience) {
    return new GuestSettings(newPatience, token);
  }
}
