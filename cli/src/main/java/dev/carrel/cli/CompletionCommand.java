package dev.carrel.cli;

import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
    name = "completion",
    description = "Print a completion script for bash and zsh.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  source <(carrel completion)                                  for this shell",
      "  carrel completion > ~/.local/share/bash-completion/completions/carrel"
    })
final class CompletionCommand implements Callable<Integer> {
  private final Session session;
  @Spec private @Nullable CommandSpec spec;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean help;

  CompletionCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    CommandSpec known = spec;
    if (known == null || help) {
      throw new IllegalStateException("picocli shows the help itself");
    }
    session.console().line(AutoComplete.bash("carrel", known.root().commandLine()));
    return 0;
  }
}
