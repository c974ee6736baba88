package dev.carrel.cli;

import java.util.List;
import java.util.Stack;
import picocli.CommandLine.IParameterConsumer;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;

/** The words of a command that runs elsewhere: all from its first one on, options too. */
final class CommandWords implements IParameterConsumer {
  @Override
  @SuppressWarnings("JdkObsolete") // picocli's own
  public void consumeParameters(Stack<String> words, ArgSpec parameter, CommandSpec command) {
    parameter.setValue(List.copyOf(words).reversed());
    words.clear();
  }
}
