package dev.carrel.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that only has others below it. */
abstract class CommandGroup implements Runnable {
  @Spec private @Nullable CommandSpec spec;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean help;

  @Override
  public void run() {
    CommandSpec known = spec;
    if (known == null || help) {
      throw new IllegalStateException("picocli shows the help itself");
    }
    throw new ParameterException(
        known.commandLine(), "which one? " + String.join(", ", known.subcommands().keySet()));
  }
}
