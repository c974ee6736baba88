package dev.carrel.control.validate;

import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Text;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Code to look at.
 *
 * @param sandbox where to look; null: in one that is made for it
 * @param autoFix whether missing imports are added
 */
public record CheckCode(
    String code,
    Language language,
    @Nullable SandboxId sandbox,
    OnDanger onDanger,
    boolean autoFix) {

  /** What a dangerous call means. */
  public enum OnDanger {
    REJECT,
    WARN,
    OFF;

    public static OnDanger parse(String name) {
      return Arrays.stream(values())
          .filter(choice -> choice.name().toLowerCase(Locale.ROOT).equals(name))
          .findFirst()
          .orElseThrow(
              () ->
                  SandboxException.invalid(
                      "on_danger",
                      "must be reject, warn or off, not '" + Text.printable(name, 32) + "'"));
    }
  }
}
