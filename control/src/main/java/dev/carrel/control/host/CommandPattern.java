package dev.carrel.control.host;

import dev.carrel.control.host.Words.Word;
import dev.carrel.spi.SandboxException;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Commands that are allowed or blocked together. Compared word by word with the words of a command,
 * never as text: nothing inside of one word can become another.
 *
 * <p>What allows is narrow: the program is named, each word stands for one word, a star in a word
 * for no slash, no star for an option or a way up. Two stars at the end stand for any further
 * words. What blocks is wide: its words must be there in that order, whatever else is between them,
 * and the program may stand anywhere.
 */
public final class CommandPattern {
  private static final Pattern UPWARDS = Pattern.compile("(.*/)?\\.\\.(/.*)?");

  private final List<Word> words;

  private CommandPattern(List<Word> words) {
    this.words = List.copyOf(words);
  }

  public static CommandPattern parse(String text) {
    return parse("pattern", text);
  }

  static CommandPattern parse(String field, String text) {
    List<Word> words = Words.parse(field, text);
    Word program = words.getFirst();
    if (!program.literal() || program.pieces().getFirst().isEmpty()) {
      throw SandboxException.invalid(
              field, "must begin with the name of a program: a star there would be any of them")
          .withHint("for example: docker restart *");
    }
    for (Word word : words.subList(0, words.size() - 1)) {
      if (word.rest()) {
        throw SandboxException.invalid(field, "two stars stand for the rest, so at the end only");
      }
    }
    return new CommandPattern(words);
  }

  /** Of exactly one command. */
  static CommandPattern of(List<String> command) {
    return new CommandPattern(command.stream().map(word -> new Word(List.of(word))).toList());
  }

  String program() {
    return words.getFirst().pieces().getFirst();
  }

  boolean allows(List<String> command) {
    boolean open = words.getLast().rest();
    int fixed = open ? words.size() - 1 : words.size();
    if (open ? command.size() < fixed : command.size() != fixed) {
      return false;
    }
    for (int i = 0; i < fixed; i++) {
      if (!stands(words.get(i), command.get(i))) {
        return false;
      }
    }
    return true;
  }

  private static boolean stands(Word word, String argument) {
    if (word.literal()) {
      return word.pieces().getFirst().equals(argument);
    }
    boolean option = argument.startsWith("-") && !word.pieces().getFirst().startsWith("-");
    return !option
        && !UPWARDS.matcher(argument).matches()
        && glob(word, word.any() ? ".*" : "[^/]*").matcher(argument).matches();
  }

  /**
   * Whether the command is one of these, by whatever name.
   *
   * @param names that the program goes by
   */
  boolean blocks(Set<String> names, List<String> command) {
    for (int i = 0; i < command.size(); i++) {
      boolean program =
          i == 0 ? names.contains(program()) : Programs.lastName(command.get(i)).equals(program());
      if (program && follows(command.subList(i + 1, command.size()))) {
        return true;
      }
    }
    return false;
  }

  private boolean follows(List<String> arguments) {
    int next = 1;
    for (int i = 0; i < arguments.size() && next < words.size(); i++) {
      Word word = words.get(next);
      if (word.rest() || glob(word, ".*").matcher(arguments.get(i)).matches()) {
        next++;
      }
    }
    return next == words.size() || words.get(next).rest();
  }

  private static Pattern glob(Word word, String star) {
    return Pattern.compile(
        word.pieces().stream().map(Pattern::quote).collect(Collectors.joining(star)),
        Pattern.DOTALL);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CommandPattern pattern && pattern.words.equals(words);
  }

  @Override
  public int hashCode() {
    return words.hashCode();
  }

  /** The one way to write it. */
  @Override
  public String toString() {
    return words.stream().map(Word::toString).collect(Collectors.joining(" "));
  }
}
