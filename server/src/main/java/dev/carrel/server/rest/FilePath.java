package dev.carrel.server.rest;

import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.HttpProblem;
import java.util.List;

/** A file's path out of a URL's. */
final class FilePath {
  private FilePath() {}

  /**
   * Decodes each segment once. A first segment that is empty makes the path absolute; an empty last
   * one means nothing.
   */
  static String of(Exchange exchange) {
    List<String> raw = exchange.rest();
    boolean absolute = raw.size() > 1 && raw.getFirst().isEmpty();
    int end = raw.size() > 1 && raw.getLast().isEmpty() ? raw.size() - 1 : raw.size();
    var path = new StringBuilder();
    for (int i = absolute ? 1 : 0; i < end; i++) {
      if (absolute || i > 0) {
        path.append('/');
      }
      path.append(segment(raw.get(i)));
    }
    if (path.isEmpty()) {
      throw HttpProblem.unreadable("path", "names no file");
    }
    return path.toString();
  }

  private static String segment(String raw) {
    String segment = Exchange.decode(raw);
    if (segment.isEmpty()) {
      throw HttpProblem.unreadable("path", "has an empty segment");
    }
    if (segment.equals(".") || segment.equals("..")) {
      throw HttpProblem.unreadable("path", "must not contain . or ..");
    }
    if (segment.indexOf('/') >= 0 || segment.indexOf('\0') >= 0) {
      throw HttpProblem.unreadable("path", "has an encoded slash or NUL in a segment");
    }
    return segment;
  }
}
