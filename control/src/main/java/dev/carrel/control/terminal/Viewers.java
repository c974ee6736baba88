package dev.carrel.control.terminal;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Who is attached to which terminal. Safe for many threads. */
final class Viewers {
  static final int MAX = 16;

  private final Map<ExecId, Crowd> crowds = new ConcurrentHashMap<>();

  private record Crowd(int all, int writers, boolean sole) {}

  void enter(ExecId terminal, Mode mode) {
    crowds.compute(terminal, (_, crowd) -> joined(terminal, crowd, mode));
  }

  void leave(ExecId terminal, Mode mode) {
    crowds.computeIfPresent(
        terminal,
        (_, crowd) ->
            crowd.all == 1
                ? null
                : new Crowd(
                    crowd.all - 1,
                    crowd.writers - (mode.writes() ? 1 : 0),
                    crowd.sole && mode != Mode.SOLE));
  }

  private static Crowd joined(ExecId terminal, @Nullable Crowd before, Mode mode) {
    Crowd crowd = before == null ? new Crowd(0, 0, false) : before;
    if (crowd.all >= MAX) {
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED,
              "terminal %s has %d viewers, the most there may be".formatted(terminal, MAX))
          .withHint("close some");
    }
    if (mode.writes() && crowd.sole) {
      throw taken(terminal, "somebody types there alone").withHint("attach with mode=read");
    }
    if (mode == Mode.SOLE && crowd.writers > 0) {
      throw taken(terminal, "others type there").withHint("attach with mode=write or mode=read");
    }
    return new Crowd(
        crowd.all + 1, crowd.writers + (mode.writes() ? 1 : 0), crowd.sole || mode == Mode.SOLE);
  }

  private static SandboxException taken(ExecId terminal, String why) {
    return new SandboxException(ErrorCode.WRONG_STATE, "terminal " + terminal + ": " + why);
  }
}
