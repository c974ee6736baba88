package dev.carrel.cli;

import picocli.CommandLine.Option;

/** What every command takes. */
final class CommonOptions {
  @Option(names = "--json", description = "Answer as JSON on standard output.")
  private boolean json;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean help;

  boolean json() {
    return json;
  }

  boolean help() {
    return help;
  }
}
