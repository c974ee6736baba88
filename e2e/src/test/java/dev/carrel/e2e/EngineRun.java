package dev.carrel.e2e;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * The suites that hold on every engine, on the one that {@code -Dcarrel.e2e.engine} names. Maven
 * runs them on {@code native} among all others; {@code build/test.sh} has the matrix.
 */
final class EngineRun {
  private static final List<String> QUICK = List.of("security.BoundaryIT");
  private static final List<String> FULL =
      List.of(
          "security.FileApiIT",
          "security.ResourceIT",
          "security.KernelAbuseIT",
          "security.ArtifactAttackIT",
          "security.AppAttackIT",
          "security.TransferAttackIT",
          "security.HostAccessIT",
          "security.NetworkIT",
          "security.BrokerIT",
          "security.PackageAttackIT",
          "security.SessionPackagesIT",
          "security.WarmBoxIT",
          "functional.AppsIT",
          "functional.CrashIT",
          "functional.AuditCrashIT",
          "functional.UpgradeIT",
          "functional.PackagesIT",
          "functional.NotebookIT",
          "functional.GrpcClientsIT",
          "functional.SoakIT");

  private static final String CLIENTS =
      "holds other people's clients to our protocols, which are the same on every engine";

  private static final String SERVER =
      "is about the server alone, whatever it makes sandboxes with";

  /** Those that are run on {@code native} alone, and why. */
  private static final Map<String, String> ELSEWHERE =
      Map.of(
          "functional.E2bClientsIT", CLIENTS,
          "functional.E2bHostsIT", CLIENTS,
          "functional.McpClientsIT", CLIENTS,
          "functional.TerminalClientsIT", CLIENTS,
          "chaos.ChaosIT", "kills the spawn server, which native alone has",
          "chaos.FewDescriptorsIT", SERVER,
          "chaos.LittleMemoryIT", SERVER,
          "chaos.FullDiskIT", "fills the disk that the spawn server writes to");

  private EngineRun() {}

  /** All that the matrix knows of, whether it runs them on every engine or says why not. */
  static Set<String> known() {
    var all = new TreeSet<>(ELSEWHERE.keySet());
    all.addAll(QUICK);
    all.addAll(FULL);
    return all;
  }

  /**
   * Runs them and tells what failed; the last line is {@code N passed, M failed}.
   *
   * @param arguments {@code quick}, {@code full} or names of classes below this package
   */
  public static void main(String[] arguments) {
    var classes = new ArrayList<DiscoverySelector>();
    for (String name : names(List.of(arguments))) {
      classes.add(DiscoverySelectors.selectClass(EngineRun.class.getPackageName() + "." + name));
    }
    var summaries = new SummaryGeneratingListener();
    try (LauncherSession session = LauncherFactory.openSession()) {
      session
          .getLauncher()
          .execute(
              LauncherDiscoveryRequestBuilder.request().selectors(classes).build(),
              summaries,
              new Told());
    }
    TestExecutionSummary summary = summaries.getSummary();
    System.out.printf(
        "%d passed, %d failed%n", summary.getTestsSucceededCount(), summary.getTotalFailureCount());
    System.exit(
        summary.getTotalFailureCount() > 0 || summary.getTestsSucceededCount() == 0 ? 1 : 0);
  }

  private static List<String> names(List<String> arguments) {
    if (arguments.equals(List.of("quick"))) {
      return QUICK;
    }
    if (!arguments.equals(List.of("full"))) {
      return arguments;
    }
    new TreeMap<>(ELSEWHERE).forEach((name, why) -> System.out.println(skipped(name, why)));
    var all = new ArrayList<>(QUICK);
    all.addAll(FULL);
    return all;
  }

  private static String skipped(String name, @Nullable String why) {
    return "skipped: " + name + ": " + why;
  }

  /** A line for each test that did not pass, and one for each suite with what it counted. */
  private static final class Told implements TestExecutionListener {
    private final Map<String, Counted> suites = new ConcurrentHashMap<>();

    private record Counted(int passed, int failed, int skipped) {
      static final Counted NONE = new Counted(0, 0, 0);

      Counted and(TestExecutionResult.Status status) {
        return switch (status) {
          case SUCCESSFUL -> new Counted(passed + 1, failed, skipped);
          case FAILED -> new Counted(passed, failed + 1, skipped);
          case ABORTED -> new Counted(passed, failed, skipped + 1);
        };
      }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
      System.out.println(skipped(test.getDisplayName(), reason));
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
      String name = test.getUniqueId().replaceAll(".*\\[class:[^\\]]*\\.", "");
      boolean aborted = result.getStatus() == TestExecutionResult.Status.ABORTED;
      result
          .getThrowable()
          .map(why -> aborted ? skipped(name, why.getMessage()) : name + ": " + why)
          .ifPresent(System.out::println);
      String suite = name.replaceAll("].*", "");
      if (test.isTest() || result.getThrowable().isPresent()) {
        suites.merge(
            suite,
            Counted.NONE.and(result.getStatus()),
            (counted, _) -> counted.and(result.getStatus()));
      } else if (test.getUniqueId().endsWith("." + suite + "]")) {
        Counted all = suites.getOrDefault(suite, Counted.NONE);
        System.out.printf(
            "%s: %d passed, %d failed, %d skipped%n",
            suite, all.passed(), all.failed(), all.skipped());
      }
    }
  }
}
