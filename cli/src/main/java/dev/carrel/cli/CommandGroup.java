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
    if (help) {
      throw new IllegalStateException("picocli shows the help itself");
    }
    throw which(spec);
  }

  /** For a command that was called without one below it. */
  static ParameterException which(@Nullable CommandSpec spec) {
    if (spec == null) {
      throw new IllegalStateException("picocli fills this in");
    }
    return new ParameterException(
        spec.commandLine(), "which one? " + String.join(", ", spec.subcommands().keySet()));
  }
}
