package dev.carrel.server.http;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a {@code multipart/form-data} body, one after the other, as they arrive. A file's
 * name is given as it came, folders and all. For one thread.
 */
public final class Multipart {
  private static final Pattern BOUNDARY =
      Pattern.compile("boundary=(?:\"([^\"]{1,70})\"|([^;\\s]{1,70}))", Pattern.CASE_INSENSITIVE);
  private static final Pattern NAME = Pattern.compile("(?i)[;\\s]name=\"([^\"]*)\"");
  private static final Pattern FILENAME = Pattern.compile("(?i)[;\\s]filename=\"([^\"]*)\"");

  /** After the last boundary; a line's end may follow or not. */
  private static final String CLOSING = "--";

  private static final int MAX_LINE = 16 * 1024;
  private static final int MAX_HEADERS = 32;
  private static final int BUFFER = 64 * 1024;

  private final InputStream in;
  private final byte[] delimiter;
  private @Nullable PartBody open;
  private boolean ended;

  public Multipart(InputStream body, String contentType) throws IOException {
    Matcher matcher = BOUNDARY.matcher(contentType);
    if (!matcher.find()) {
      throw HttpProblem.unreadable("Content-Type", "names no boundary");
    }
    String boundary = matcher.group(1) == null ? matcher.group(2) : matcher.group(1);
    this.delimiter = ("\r\n--" + boundary).getBytes(StandardCharsets.UTF_8);
    this.in = new BufferedInputStream(body, BUFFER);
    if (!line().equals("--" + boundary)) {
      throw HttpProblem.unreadable("body", "does not begin with its boundary");
    }
  }

  /** The next part; what was left of the one before is passed over. Null at the end. */
  public @Nullable Part next() throws IOException {
    if (open != null) {
      open.transferTo(OutputStream.nullOutputStream());
      open = null;
      String rest = line();
      ended = rest.equals(CLOSING);
    }
    if (ended) {
      return null;
    }
    String name = "";
    Optional<String> file = Optional.empty();
    int count = 0;
    for (String line = line(); !line.isEmpty(); line = line()) {
      if (++count > MAX_HEADERS) {
        throw HttpProblem.unreadable("body", "a part has too many headers");
      }
      if (line.regionMatches(true, 0, "Content-Disposition:", 0, 20)) {
        name = find(NAME, line).orElse("");
        file = find(FILENAME, line);
      }
    }
    open = new PartBody();
    return new Part(name, file.orElse(""), open);
  }

  private static Optional<String> find(Pattern pattern, String line) {
    Matcher matcher = pattern.matcher(line);
    return matcher.find() ? Optional.of(unescaped(matcher.group(1))) : Optional.empty();
  }

  /** Browsers escape what would end the name; Python's clients double its backslashes as well. */
  private static String unescaped(String name) {
    return name.replace("%22", "\"")
        .replace("%0D", "\r")
        .replace("%0A", "\n")
        .replace("\\\\", "\\");
  }

  private String line() throws IOException {
    var line = new ByteArrayOutputStream();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0 && line.toString(StandardCharsets.UTF_8).equals(CLOSING)) {
        return CLOSING;
      }
      if (c < 0) {
        throw HttpProblem.unreadable("body", "ends within a part");
      }
      if (line.size() > MAX_LINE) {
        throw HttpProblem.unreadable("body", "a header of a part is too long");
      }
      line.write(c);
    }
    String text = line.toString(StandardCharsets.UTF_8);
    return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
  }

  /**
   * One part.
   *
   * @param filename empty: it has none
   */
  public record Part(String name, String filename, InputStream content) {}

  /** Ends where the boundary begins. */
  private final class PartBody extends InputStream {
    private boolean over;

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      if (over || length == 0) {
        return over ? -1 : 0;
      }
      int count = 0;
      while (count < length) {
        int c = in.read();
        if (c < 0) {
          throw HttpProblem.unreadable("body", "ends within a part");
        }
        if (c == delimiter[0] && atDelimiter()) {
          over = true;
          return count == 0 ? -1 : count;
        }
        bytes[offset + count++] = (byte) c;
      }
      return count;
    }

    /** The first byte of it was read; the rest is taken when it follows, else left. */
    private boolean atDelimiter() throws IOException {
      in.mark(delimiter.length);
      byte[] rest = in.readNBytes(delimiter.length - 1);
      if (Arrays.equals(rest, 0, rest.length, delimiter, 1, delimiter.length)) {
        return true;
      }
      in.reset();
      return false;
    }
  }
}
