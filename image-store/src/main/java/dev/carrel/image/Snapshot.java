package dev.carrel.image;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.regex.Pattern;

/**
 * A mirror that keeps a distribution as it was at one time.
 *
 * @param address in which {@code {archive}} stands for the last part of the address that it takes
 *     the place of, such as {@code debian} or {@code debian-security}
 */
public record Snapshot(String address) {
  private static final String ARCHIVE = "{archive}";
  // It becomes a word of sources.list: no blanks, no brackets.
  private static final Pattern FORM = Pattern.compile("https?://[A-Za-z0-9.:/_~%@+-]{1,500}");

  public Snapshot {
    if (!FORM.matcher(address.replace(ARCHIVE, "archive")).matches()) {
      throw SandboxException.invalid(
          "snapshot",
          "must be an http or https address such as https://mirror/{archive}/20250520T000000Z,"
              + " and is "
              + Text.printable(address, 120));
    }
  }

  /** Where it has what is at this address today. */
  String of(String today) {
    String path = today.replaceFirst("/+$", "");
    return address.replace(ARCHIVE, path.substring(path.lastIndexOf('/') + 1));
  }

  @Override
  public String toString() {
    return address;
  }
}
