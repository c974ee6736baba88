package dev.carrel.guest;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How to talk to a guest.
 *
 * @param patience how long one wait for the guest may last where it owes an answer: connecting, the
 *     first answer to an exec, each step of a file operation. A program's own silence is not
 *     limited by it
 * @param work how much longer it may be silent while it does what takes its time: a large tree, a
 *     slow disk. One that ends meanwhile hangs up
 * @param token what the guest was started with; null where its socket is the proof
 */
public record GuestSettings(Duration patience, Duration work, @Nullable String token) {
  public static final GuestSettings DEFAULT =
      new GuestSettings(Duration.ofSeconds(30), Duration.ofMinutes(10), null);

  public GuestSettings {
    if (!patience.isPositive()) {
      throw new IllegalArgumentException("patience must be positive: " + patience);
    }
  }

  public GuestSettings withPatience(Duration newPatience) {
    return new GuestSettings(newPatience, work, token);
  }

  public GuestSettings withWork(Duration newWork) {
    return new GuestSettings(patience, newWork, token);
  }
}
