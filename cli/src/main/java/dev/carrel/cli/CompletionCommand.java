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
  private static final String REGISTERED = "complete -F _complete_carrel ";
  // Without a match picocli's function fails, which would end a shell with set -e.
  private static final String GUARDED =
      """
      function _complete_carrel_calmly() {
        _complete_carrel "$@" || true
      }
      complete -F _complete_carrel_calmly\s""";

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
    String script = AutoComplete.bash("carrel", known.root().commandLine());
    session.console().line(script.replace(REGISTERED, GUARDED));
    return 0;
  }
}
