package dev.carrel.control.furnish;

import dev.carrel.control.budget.Budget;
import dev.carrel.control.budget.Resource;
import dev.carrel.control.packages.InstallPackages;
import dev.carrel.spi.SandboxException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a new sandbox begins with.
 *
 * @param budget what it may use up in all; empty: no limit
 * @param packages to install before anybody gets it
 */
public record Furnishing(Map<Resource, Long> budget, List<InstallPackages> packages) {
  private static final int MOST = 8;

  public Furnishing {
    budget = Map.copyOf(budget);
    packages = List.copyOf(packages);
    if (packages.size() > MOST) {
      throw SandboxException.invalid("packages", "must be at most " + MOST + " installs");
    }
  }

  /** As a caller says it: null is no limit. */
  public static Furnishing of(
      Map<Resource, @Nullable Long> budget, List<InstallPackages> packages) {
    return new Furnishing(Budget.checked(budget), packages);
  }
}
