package dev.carrel.control.files;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What changed between two texts, as patch shows it. Bounded in time and size. */
final class UnifiedDiff {
  private static final int CONTEXT = 3;
  private static final int MAX_COMPARED = 2000;
  private static final int MAX_LINES = 400;
  private static final int MAX_LENGTH = 256 * 1024;
  private static final String MORE = "… more changes than are shown\n";

  private final List<String> before;
  private final List<String> after;
  private final List<Step> steps = new ArrayList<>();

  private enum Kind {
    SAME(' '),
    REMOVED('-'),
    ADDED('+');

    private final char mark;

    Kind(char mark) {
      this.mark = mark;
    }
  }

  private record Step(Kind kind, String line) {}

  private UnifiedDiff(String before, String after) {
    this.before = before.lines().toList();
    this.after = after.lines().toList();
  }

  static String of(String path, String before, String after) {
    int head = sameLines(before, after);
    int tail = sameTail(before, after, head);
    int from = back(before, head);
    String old = before.substring(from, forth(before, before.length() - tail));
    String fresh = after.substring(from, forth(after, after.length() - tail));
    String names = "--- " + path + "\n+++ " + path + "\n";
    if (tooLong(old) || tooLong(fresh)) {
      return names + MORE;
    }
    var diff = new UnifiedDiff(old, fresh);
    diff.compare();
    return diff.render(names, 1 + (int) before.substring(0, from).lines().count());
  }

  /** How many characters of whole lines both begin with. */
  private static int sameLines(String before, String after) {
    int shorter = Math.min(before.length(), after.length());
    int same = 0;
    while (same < shorter && before.charAt(same) == after.charAt(same)) {
      same++;
    }
    return before.lastIndexOf('\n', same - 1) + 1;
  }

  /** How many characters of whole lines both end with, apart from those that they begin with. */
  private static int sameTail(String before, String after, int head) {
    int shorter = Math.min(before.length(), after.length()) - head;
    int same = 0;
    while (same < shorter
        && before.charAt(before.length() - 1 - same) == after.charAt(after.length() - 1 - same)) {
      same++;
    }
    int end = before.indexOf('\n', before.length() - same);
    return end < 0 ? 0 : before.length() - end - 1;
  }

  /** Where the lines of context before a line begin. */
  private static int back(String text, int start) {
    int from = start;
    for (int i = 0; i < CONTEXT && from > 0; i++) {
      from = text.lastIndexOf('\n', from - 2) + 1;
    }
    return from;
  }

  /** Where the lines of context after a line end. */
  private static int forth(String text, int end) {
    int to = end;
    for (int i = 0; i < CONTEXT && to < text.length(); i++) {
      int next = text.indexOf('\n', to);
      to = next < 0 ? text.length() : next + 1;
    }
    return to;
  }

  private static boolean tooLong(String text) {
    return text.lines().limit(MAX_COMPARED + 1).count() > MAX_COMPARED;
  }

  private void compare() {
    int start = 0;
    int shorter = Math.min(before.size(), after.size());
    while (start < shorter && before.get(start).equals(after.get(start))) {
      start++;
    }
    int tail = 0;
    while (tail < shorter - start
        && before.get(before.size() - 1 - tail).equals(after.get(after.size() - 1 - tail))) {
      tail++;
    }
    add(Kind.SAME, before.subList(0, start));
    List<String> old = before.subList(start, before.size() - tail);
    List<String> fresh = after.subList(start, after.size() - tail);
    align(old, fresh);
    add(Kind.SAME, before.subList(before.size() - tail, before.size()));
  }

  private void add(Kind kind, List<String> lines) {
    lines.forEach(line -> steps.add(new Step(kind, line)));
  }

  private void align(List<String> old, List<String> fresh) {
    // Lines may be long, and each is compared with all others: their numbers are not.
    var numbers = new HashMap<String, Integer>();
    int[] left = numbered(old, numbers);
    int[] right = numbered(fresh, numbers);
    int[][] common = new int[left.length + 1][right.length + 1];
    for (int i = left.length - 1; i >= 0; i--) {
      for (int j = right.length - 1; j >= 0; j--) {
        common[i][j] =
            left[i] == right[j]
                ? common[i + 1][j + 1] + 1
                : Math.max(common[i + 1][j], common[i][j + 1]);
      }
    }
    int i = 0;
    int j = 0;
    while (i < old.size() || j < fresh.size()) {
      if (i < old.size() && j < fresh.size() && left[i] == right[j]) {
        steps.add(new Step(Kind.SAME, old.get(i++)));
        j++;
      } else if (i < old.size() && (j == fresh.size() || common[i + 1][j] >= common[i][j + 1])) {
        steps.add(new Step(Kind.REMOVED, old.get(i++)));
      } else {
        steps.add(new Step(Kind.ADDED, fresh.get(j++)));
      }
    }
  }

  private static int[] numbered(List<String> lines, Map<String, Integer> numbers) {
    return lines.stream()
        .mapToInt(line -> numbers.computeIfAbsent(line, _ -> numbers.size()))
        .toArray();
  }

  private String render(String names, int firstLine) {
    var text = new StringBuilder(names);
    int oldLine = firstLine;
    int newLine = firstLine;
    int printed = 0;
    for (int i = 0; i < steps.size(); ) {
      if (!near(i)) {
        oldLine++;
        newLine++;
        i++;
        continue;
      }
      int end = i;
      while (end < steps.size() && near(end)) {
        end++;
      }
      List<Step> hunk = steps.subList(i, end);
      long added = hunk.stream().filter(step -> step.kind == Kind.ADDED).count();
      long removed = hunk.stream().filter(step -> step.kind == Kind.REMOVED).count();
      long same = hunk.size() - added - removed;
      printed += hunk.size();
      long length = hunk.stream().mapToLong(step -> step.line.length()).sum();
      if (printed > MAX_LINES || text.length() + length > MAX_LENGTH) {
        return text.append(MORE).toString();
      }
      text.append(
          "@@ -%d,%d +%d,%d @@\n".formatted(oldLine, same + removed, newLine, same + added));
      hunk.forEach(step -> text.append(step.kind.mark).append(step.line).append('\n'));
      oldLine += (int) (same + removed);
      newLine += (int) (same + added);
      i = end;
    }
    return text.toString();
  }

  private boolean near(int index) {
    int to = Math.min(steps.size() - 1, index + CONTEXT);
    for (int i = Math.max(0, index - CONTEXT); i <= to; i++) {
      if (steps.get(i).kind != Kind.SAME) {
        return true;
      }
    }
    return false;
  }
}
