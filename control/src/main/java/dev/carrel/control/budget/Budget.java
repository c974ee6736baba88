package dev.carrel.control.budget;

import dev.carrel.spi.SandboxException;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A budget as it stands, in the units that callers see.
 *
 * @param limits of those resources that have one
 * @param used since the budget was set
 */
public record Budget(Scope scope, Map<Resource, Long> limits, Map<Resource, Double> used) {
  // A thousand years of CPU, a thousand petabytes: beyond it sums could overflow.
  public static final long MAX = 1L << 35;
  public static final long MAX_BYTES = 1L << 60;

  public Budget {
    limits = Map.copyOf(limits);
    used = Map.copyOf(used);
  }

  /** Those that are limits at all; throws when one cannot be. */
  public static Map<Resource, Long> checked(Map<Resource, @Nullable Long> asked) {
    var limits = new EnumMap<Resource, Long>(Resource.class);
    asked.forEach(
        (resource, limit) -> {
          long max = resource == Resource.EGRESS_BYTES ? MAX_BYTES : MAX / 8;
          if (limit != null && (limit < 0 || limit > max)) {
            throw SandboxException.invalid(resource.wireName(), "must be between 0 and " + max);
          }
          if (limit != null) {
            limits.put(resource, limit);
          }
        });
    return limits;
  }

  /**
   * Whose budget it is.
   *
   * @param name the id of a sandbox, or the name of a namespace
   */
  public record Scope(String tenant, Kind kind, String name) {
    @Override
    public String toString() {
      return kind == Kind.SANDBOX ? "sandbox " + name : "namespace '" + name + "'";
    }
  }

  /** What has budgets. */
  public enum Kind {
    SANDBOX,
    NAMESPACE
  }
}
