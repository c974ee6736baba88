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
 * session key or the key of the request, stays as it is, unless the request with that key did not
 * get it all. Safe for many threads.
 */
public final class Furnishings {
  private final Creates creates;
  private final Budgets budgets;
  private final Packages packages;

  public Furnishings(Creates creates, Budgets budgets, Packages packages) {
    this.creates = creates;
    this.budgets = budgets;
    this.packages = packages;
  }

  /**
   * As {@link Creates#create}. The budget holds before there is a machine. A client that fails to
   * install is told in the result, and tries again when the request is repeated with its key; a
   * rule or policy that forbids it leaves no sandbox behind.
   */
  public Furnished create(
      Caller caller,
      CreateSandbox request,
      Furnishing furnishing,
      @Nullable RequestKey key,
      Runnable begun)
      throws InterruptedException {
    furnishing.packages().forEach(packages::check);
    var done = new ArrayList<Installation>();
    Creates.Finish finish =
        furnishing.packages().isEmpty()
            ? Creates.NOTHING_TO_FINISH
            : created -> install(caller, created.sandbox().id(), furnishing, done);
    Creates.Created created =
        creates.create(caller, request, key, begun, about(caller, furnishing), finish);
    return new Furnished(created, done);
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

  private boolean install(
      Caller caller, SandboxId id, Furnishing furnishing, List<Installation> done)
      throws InterruptedException {
    for (InstallPackages one : furnishing.packages()) {
      done.add(packages.install(caller, id, one));
    }
    return done.stream().allMatch(Installation::success);
  }

  /**
   * What came of it.
   *
   * @param installations one for each that was asked for; none when there was nothing to do
   */
  public record Furnished(Creates.Created created, List<Installation> installations) {
    public Furnished {
      installations = List.copyOf(installations);
    }
  }
}
