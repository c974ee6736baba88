package dev.carrel.cli;

import java.util.List;
import java.util.Stack;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.IParameterConsumer;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/**
 * The words of a command that runs elsewhere: all that follows its first one. Whose an option among
 * them is cannot be told without {@code --} before the command, so it is refused.
 */
final class CommandWords implements IParameterConsumer {
  private static final String SEPARATOR = "--";

  @Override
  @SuppressWarnings("JdkObsolete") // picocli's own
  public void consumeParameters(Stack<String> words, ArgSpec parameter, CommandSpec command) {
    parameter.setValue(List.copyOf(words).reversed());
    words.clear();
  }

  static void requireOurOptionsFirst(@Nullable CommandSpec spec, List<String> words) {
    if (spec == null) {
      throw new IllegalStateException("picocli fills this in");
    }
    List<String> all = spec.commandLine().getParseResult().originalArgs();
    if (all.subList(0, all.size() - words.size()).contains(SEPARATOR)) {
      return;
    }
    words.stream()
        .skip(1)
        .filter(word -> word.length() > 1 && word.startsWith("-"))
        .findFirst()
        .ifPresent(
            word -> {
              throw new ParameterException(
                  spec.commandLine(),
                  "is %s carrel's or that of %s? Write -- before the command, and carrel's options"
                          .formatted(word, words.getFirst())
                      + " before that");
            });
  }
}
