package dev.carrel.cli;

import dev.carrel.sdk.CarrelException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** What others say of a failure, in the words of who typed the command. */
final class Wording {
  private Wording() {}

  /** What picocli found wrong. */
  static String of(ParameterException e) {
    if (!(e instanceof UnmatchedArgumentException unmatched) || unmatched.isUnknownOption()) {
      return String.valueOf(e.getMessage()).replace("option option", "option");
    }
    List<String> words = unmatched.getUnmatched();
    boolean group = !e.getCommandLine().getSubcommands().isEmpty();
    return group
        ? noCommand(words.getFirst())
        : words.stream().collect(Collectors.joining("', '", "nothing is made of '", "' here"));
  }

  static String noCommand(String word) {
    return "there is no command '" + word + "'";
  }

  /** Commands with names like that one; may be none. */
  static Optional<String> meant(UnmatchedArgumentException e) {
    List<String> names = e.getSuggestions();
    return names.isEmpty() || names.getFirst().isEmpty()
        ? Optional.empty()
        : Optional.of("did you mean " + String.join(" or ", names) + "?");
  }

  /** A refusal by the server, with the option that was typed in place of the field of the API. */
  static String of(CarrelException e, CommandLine command) {
    String message = e.message();
    return e.field()
        .filter(field -> message.startsWith(field + ": "))
        .flatMap(
            field ->
                option(field, command.getCommandSpec())
                    .map(option -> option + message.substring(field.length())))
        .orElse(message);
  }

  private static Optional<String> option(String field, CommandSpec command) {
    String name = field.equals("recent") ? "limit" : field.replaceAll("_(mb|seconds|cores)$", "");
    String option = "--" + name.replace('_', '-');
    return Stream.of(option, option.replace("memory", "ram").replace("pids", "processes"))
        .filter(one -> command.findOption(one) != null)
        .findFirst();
  }

  /** A time in a table: to the second, since rows are to fit a terminal; JSON has all of it. */
  static String time(Instant at) {
    return at.truncatedTo(ChronoUnit.SECONDS).toString();
  }

  /** A message about one of several things, which names it once. */
  static String about(String name, String message) {
    boolean named =
        Pattern.compile("(?<!\\w)" + Pattern.quote(name) + "(?!\\w)").matcher(message).find();
    return named ? message : name + ": " + message;
  }
}
