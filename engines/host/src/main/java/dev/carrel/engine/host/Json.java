package dev.carrel.engine.host;

import java.util.Collection;
import java.util.Map;

/** Maps, collections, texts, numbers and truths as JSON: what runtimes are told. */
public final class Json {
  private Json() {}

  public static String of(Object value) {
    var text = new StringBuilder();
    append(text, value);
    return text.toString();
  }

  private static void append(StringBuilder text, Object value) {
    switch (value) {
      case Map<?, ?> members -> {
        String before = "{";
        for (Map.Entry<?, ?> member : members.entrySet()) {
          text.append(before);
          quote(text, String.valueOf(member.getKey()));
          text.append(':');
          append(text, member.getValue());
          before = ",";
        }
        text.append(members.isEmpty() ? "{}" : "}");
      }
      case Collection<?> items -> {
        String before = "[";
        for (Object item : items) {
          text.append(before);
          append(text, item);
          before = ",";
        }
        text.append(items.isEmpty() ? "[]" : "]");
      }
      case Number number -> text.append(number);
      case Boolean truth -> text.append(truth);
      default -> quote(text, value.toString());
    }
  }

  private static void quote(StringBuilder text, String value) {
    text.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        text.append('\\').append(c);
      } else if (c < ' ' || c == 0x7f) {
        text.append("\\u%04x".formatted((int) c));
      } else {
        text.append(c);
      }
    }
    text.append('"');
  }
}
