package dev.carrel.control.furnish;

import dev.carrel.control.admission.Creates;
import dev.carrel.control.budget.Budgets;
import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.control.packages.InstallPackages;
import dev.carrel.control.packages.Installation;
import dev.carrel.control.packages.Packages;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.spi.SandboxId;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The way to a new sandbox that begins with a budget or packages. What is there already, by its
 * session key or the key of the request, stays as it is. Safe for many threads.
 */
public final class Furnishings {
  private final Creates creates;
  private final Sandboxes sandboxes;
  private final Budgets budgets;
  private final Packages packages;

  public Furnishings(Creates creates, Sandboxes sandboxes, Budgets budgets, Packages packages) {
    this.creates = creates;
    this.sandboxes = sandboxes;
    this.budgets = budgets;
    this.packages = packages;
  }

  /**
   * As {@link Creates#create}. The budget holds before there is a machine. A client that fails to
   * install is told in the result; a rule or policy that forbids it leaves no sandbox behind.
   */
  public Furnished create(
      Caller caller,
      CreateSandbox request,
      Furnishing furnishing,
      @Nullable RequestKey key,
      Runnable begun)
      throws InterruptedException {
    furnishing.packages().forEach(packages::check);
    Creates.Created created =
        creates.create(caller, request, key, begun, about(caller, furnishing));
    return created.made() ? install(caller, created, furnishing) : Furnished.plain(created);
  }

  private Function<SandboxId, Runnable> about(Caller caller, Furnishing furnishing) {
    if (furnishing.budget().isEmpty()) {
      return Sandboxes.NOTHING_TO_NOTE;
    }
    return id -> {
      budgets.begin(caller, id, furnishing.budget());
      return () -> budgets.withdraw(caller, id);
    };
  }

  private Furnished install(Caller caller, Creates.Created created, Furnishing furnishing)
      throws InterruptedException {
    var done = new ArrayList<Installation>();
    boolean allowed = false;
    try {
      for (InstallPackages one : furnishing.packages()) {
        done.add(packages.install(caller, created.sandbox().id(), one));
      }
      allowed = true;
    } finally {
      if (!allowed) {
        sandboxes.deleteUnlessShared(caller, created.sandbox().id());
      }
    }
    return new Furnished(created, done);
  }

  /**
   * What came of it.
   *
   * @param installations one for each that was asked for; none when the sandbox was there already
   */
  public record Furnished(Creates.Created created, List<Installation> installations) {
    public Furnished {
      installations = List.copyOf(installations);
    }

    static Furnished plain(Creates.Created created) {
      return new Furnished(created, List.of());
    }
  }
}
