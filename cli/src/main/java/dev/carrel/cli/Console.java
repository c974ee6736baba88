package dev.carrel.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Instant;
import java.util.List;

/**
 * Where a command writes: results to standard output, everything about them to standard error.
 * Colours and progress only where a person looks.
 */
final class Console {
  /** What a piece of text means; how it looks is decided here. */
  enum Style {
    GOOD("32"),
    BAD("31"),
    WARN("33"),
    STRONG("1"),
    FAINT("2");

    private final String code;

    Style(String code) {
      this.code = code;
    }
  }

  private final PrintStream out;
  private final PrintStream err;
  private final boolean outColours;
  private final boolean errIsTerminal;
  private final boolean errColours;

  Console(PrintStream out, PrintStream err, Terminal terminal, boolean colours) {
    this.out = out;
    this.err = err;
    this.outColours = colours && terminal.isTerminal(1);
    this.errIsTerminal = terminal.isTerminal(2);
    this.errColours = colours && errIsTerminal;
  }

  PrintStream out() {
    return out;
  }

  PrintStream err() {
    return err;
  }

  void line(String text) {
    out.println(text);
    requireRead(out);
  }

  /** Standard output for what is not lines of text. */
  OutputStream bytes() {
    return new OutputStream() {
      @Override
      public void write(int one) {
        write(new byte[] {(byte) one}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int offset, int length) {
        out.write(bytes, offset, length);
        requireRead(out);
      }
    };
  }

  /** Flushes, and ends the command when nobody reads what it writes any more (head, less). */
  static void requireRead(PrintStream stream) {
    if (stream.checkError()) {
      throw new OutputLost();
    }
  }

  /** What was written could not be: its reader is gone, or its disk is full. */
  static final class OutputLost extends RuntimeException {}

  void json(Object value) {
    try {
      line(Json.MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(value));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not expressible as JSON: " + value.getClass(), e);
    }
  }

  /** One JSON value on one line, for streams of them. */
  void jsonLine(Object value) {
    try {
      line(Json.MAPPER.writeValueAsString(value));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not expressible as JSON: " + value.getClass(), e);
    }
  }

  void table(List<String> head, List<List<String>> rows) {
    new Table(head, rows).lines().forEach(this::line);
  }

  void note(String text) {
    tell("", text);
  }

  void error(String text) {
    tell(paint("carrel: ", Style.BAD, errColours), text);
  }

  void hint(String text) {
    tell(paint("  hint: ", Style.WARN, errColours), text);
  }

  /** Messages may have lines, and often quote what a server, a package or a sandbox wrote. */
  private void tell(String head, String text) {
    err.println(head + safeLines(text));
    err.flush();
  }

  /** As {@link #safe}, for text of more than one line. */
  String safeLines(String text) {
    return without(text, "\n\t");
  }

  /** Text from a sandbox, unable to move the cursor or change colours. */
  String safe(String text) {
    return without(text, "");
  }

  private static String without(String text, String kept) {
    return text.codePoints()
        .map(c -> Character.isISOControl(c) && kept.indexOf(c) < 0 ? '?' : c)
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString();
  }

  String styled(Style style, String text) {
    return paint(text, style, outColours);
  }

  /** Shows {@code what} on standard error's terminal once it has taken a second. */
  Progress progress(String what) {
    return errIsTerminal ? Progress.on(err, what) : Progress.none();
  }

  private static String paint(String text, Style style, boolean colours) {
    return colours ? "\033[" + style.code + "m" + text + "\033[0m" : text;
  }

  /** Apart, so that only those who ask for JSON wait for Jackson to be set up. */
  static final class Json {
    static final ObjectMapper MAPPER =
        JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .addModule(new SimpleModule().addSerializer(Instant.class, ToStringSerializer.instance))
            .build();
  }
}
