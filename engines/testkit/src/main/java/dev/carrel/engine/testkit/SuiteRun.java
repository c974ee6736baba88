package dev.carrel.engine.testkit;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** Runs one class of tests in a process of its own and says how many passed and failed. */
final class SuiteRun {
  private SuiteRun() {}

  public static void main(String[] arguments) {
    var request =
        LauncherDiscoveryRequestBuilder.request().selectors(selectClass(arguments[0])).build();
    var summary = new SummaryGeneratingListener();
    LauncherFactory.create().execute(request, summary);
    var out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    summary.getSummary().printFailuresTo(out, 12);
    out.printf(
        "%d passed, %d failed, %d skipped%n",
        summary.getSummary().getTestsSucceededCount(),
        summary.getSummary().getTestsFailedCount(),
        summary.getSummary().getTestsSkippedCount());
  }
}
