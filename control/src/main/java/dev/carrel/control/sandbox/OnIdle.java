package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.Arrays;
import java.util.Locale;

/** What happens to a sandbox that nobody has used for long enough. */
public enum OnIdle {
  /** Ends the machine and keeps the volume. */
  STOP,
  /** Keeps all processes and their memory, without CPU. */
  PAUSE,
  /** Removes it with everything in it. */
  DESTROY;

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static OnIdle parse(String name) {
    return Arrays.stream(values())
        .filter(policy -> policy.wireName().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                SandboxException.invalid(
                    "on_idle",
                    "unknown policy '"
                        + Text.printable(name, 32)
                        + "'; one of "
                        + Arrays.stream(values()).map(OnIdle::wireName).toList()));
  }
}
