package dev.carrel.control.store;

import dev.carrel.spi.FileChange;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Lists and maps of text as one column: a line per item, with line ends and backslashes escaped, so
 * that the file can be read and searched with any SQLite shell.
 */
public final class Lines {
  private Lines() {}

  public static String ofList(List<String> items) {
    var out = new StringBuilder();
    for (String item : items) {
      escape(item, out);
      out.append('\n');
    }
    return out.toString();
  }

  public static List<String> toList(String text) {
    var items = new ArrayList<String>();
    var item = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\n') {
        items.add(item.toString());
        item.setLength(0);
      } else if (c == '\\' && i + 1 < text.length()) {
        i++;
        item.append(text.charAt(i) == 'n' ? '\n' : text.charAt(i));
      } else {
        item.append(c);
      }
    }
    return items;
  }

  /** Names and values on lines of their own, in the order of the names. */
  public static String ofMap(Map<String, String> map) {
    SortedMap<String, String> sorted =
        map instanceof SortedMap<String, String> already && already.comparator() == null
            ? already
            : new TreeMap<>(map);
    var out = new StringBuilder();
    for (Map.Entry<String, String> entry : sorted.entrySet()) {
      escape(entry.getKey(), out);
      out.append('\n');
      escape(entry.getValue(), out);
      out.append('\n');
    }
    return out.toString();
  }

  public static Map<String, String> toMap(String text) {
    List<String> items = toList(text);
    var map = new TreeMap<String, String>();
    for (int i = 0; i + 1 < items.size(); i += 2) {
      map.put(items.get(i), items.get(i + 1));
    }
    return map;
  }

  /** Four lines for each change, of at most so many. */
  public static String ofChanges(List<FileChange> changes, int most) {
    var items = new ArrayList<String>();
    for (FileChange change : changes.subList(0, Math.min(changes.size(), most))) {
      items.add(change.path());
      items.add(change.action().name());
      items.add(String.valueOf(change.size()));
      items.add(String.valueOf(change.directory()));
    }
    return ofList(items);
  }

  public static List<FileChange> toChanges(String text) {
    List<String> items = toList(text);
    var changes = new ArrayList<FileChange>();
    for (int i = 0; i + 3 < items.size(); i += 4) {
      changes.add(
          new FileChange(
              items.get(i),
              FileChange.Action.valueOf(items.get(i + 1)),
              Long.parseLong(items.get(i + 2)),
              Boolean.parseBoolean(items.get(i + 3))));
    }
    return changes;
  }

  private static void escape(String item, StringBuilder out) {
    if (item.indexOf('\n') < 0 && item.indexOf('\\') < 0) {
      out.append(item);
      return;
    }
    for (int i = 0; i < item.length(); i++) {
      char c = item.charAt(i);
      switch (c) {
        case '\n' -> out.append("\\n");
        case '\\' -> out.append("\\\\");
        default -> out.append(c);
      }
    }
  }
}
