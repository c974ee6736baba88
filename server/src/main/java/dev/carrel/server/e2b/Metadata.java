package dev.carrel.server.e2b;

import dev.carrel.server.http.Exchange;
import dev.carrel.spi.SandboxException;
import java.util.Map;
import java.util.regex.Pattern;

/** What clients want kept with a file: a header for each. */
final class Metadata {
  private static final String PREFIX = "x-metadata-";
  // What a file keeps for a key, beside the key.
  private static final String NAMESPACE = "user.e2b.";
  private static final Pattern PRINTABLE = Pattern.compile("[ -~]*");
  private static final int MAX_KEY = 246;
  private static final int MAX_BYTES = 4096;

  private Metadata() {}

  static Map<String, String> of(Exchange exchange) {
    Map<String, String> found = exchange.headersAfter(PREFIX);
    int bytes = 0;
    for (Map.Entry<String, String> entry : found.entrySet()) {
      String key = entry.getKey();
      if (!PRINTABLE.matcher(key + entry.getValue()).matches() || key.contains("=")) {
        throw SandboxException.invalid("metadata", "keys and values must be printable ASCII");
      }
      if (key.length() > MAX_KEY) {
        throw SandboxException.invalid("metadata", "a key has at most " + MAX_KEY + " letters");
      }
      bytes += NAMESPACE.length() + key.length() + entry.getValue().length();
    }
    if (bytes > MAX_BYTES) {
      throw SandboxException.invalid(
          "metadata", "has %d bytes, at most %d".formatted(bytes, MAX_BYTES));
    }
    return found;
  }
}
