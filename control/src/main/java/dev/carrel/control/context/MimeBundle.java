package dev.carrel.control.context;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** One value in several representations, in the kernel's order. */
public record MimeBundle(List<Item> items) {
  public MimeBundle {
    items = List.copyOf(items);
  }

  public Optional<Item> find(String mime) {
    return items.stream().filter(item -> item.mime().equals(mime)).findFirst();
  }

  /**
   * A representation.
   *
   * @param data raw bytes; not to be changed
   */
  @SuppressWarnings("ArrayRecordComponent") // images are large: neither copied nor compared
  public record Item(String mime, byte[] data) {
    /** Whether {@link #text()} is the text itself rather than base64. */
    public boolean isText() {
      String type = mime.toLowerCase(Locale.ROOT);
      return type.startsWith("text/")
          || type.startsWith("image/svg")
          || type.equals("application/json")
          || type.equals("application/javascript")
          || type.endsWith("+json")
          || type.endsWith("+xml");
    }

    /** Text with broken UTF-8 repaired, or base64 of what is not text. */
    public String text() {
      return isText()
          ? new String(data, StandardCharsets.UTF_8)
          : Base64.getEncoder().encodeToString(data);
    }
  }
}
