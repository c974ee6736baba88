package dev.carrel.control.sandbox;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import org.jspecify.annotations.Nullable;

/** The label inside a tenant that secrets, policies and records go by. */
public final class Namespace {
  public static final String DEFAULT = "default";

  private Namespace() {}

  /**
   * The name to go by.
   *
   * @param asked null: the default
   */
  public static String of(@Nullable String asked) {
    if (asked == null) {
      return DEFAULT;
    }
    NamedVolumes.checkName("namespace", asked);
    return asked;
  }

  /** A session key that leads to another namespace would lend that one's secrets. */
  static void requireSame(Sandbox existing, @Nullable String asked) {
    if (asked != null && !asked.equals(existing.namespace())) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "session_key: its sandbox is in namespace '" + existing.namespace() + "'")
          .withHint("leave namespace out, or use another session key");
    }
  }
}
