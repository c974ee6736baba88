package dev.carrel.control.files;

import java.util.ArrayList;
import java.util.List;

/** What changed between two texts, as patch shows it. Bounded in time and size. */
final class UnifiedDiff {
  private static final int CONTEXT = 3;
  private static final long MAX_WORK = 4_000_000;
  private static final int MAX_LINES = 400;

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
    var diff = new UnifiedDiff(before, after);
    diff.compare();
    return diff.render(path);
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
    if ((long) old.size() * fresh.size() <= MAX_WORK) {
      align(old, fresh);
    } else {
      add(Kind.REMOVED, old);
      add(Kind.ADDED, fresh);
    }
    add(Kind.SAME, before.subList(before.size() - tail, before.size()));
  }

  private void add(Kind kind, List<String> lines) {
    lines.forEach(line -> steps.add(new Step(kind, line)));
  }

  private void align(List<String> old, List<String> fresh) {
    int[][] common = new int[old.size() + 1][fresh.size() + 1];
    for (int i = old.size() - 1; i >= 0; i--) {
      for (int j = fresh.size() - 1; j >= 0; j--) {
        common[i][j] =
            old.get(i).equals(fresh.get(j))
                ? common[i + 1][j + 1] + 1
                : Math.max(common[i + 1][j], common[i][j + 1]);
      }
    }
    int i = 0;
    int j = 0;
    while (i < old.size() || j < fresh.size()) {
      if (i < old.size() && j < fresh.size() && old.get(i).equals(fresh.get(j))) {
        steps.add(new Step(Kind.SAME, old.get(i++)));
        j++;
      } else if (i < old.size() && (j == fresh.size() || common[i + 1][j] >= common[i][j + 1])) {
        steps.add(new Step(Kind.REMOVED, old.get(i++)));
      } else {
        steps.add(new Step(Kind.ADDED, fresh.get(j++)));
      }
    }
  }

  private String render(String path) {
    var text = new StringBuilder("--- " + path + "\n+++ " + path + "\n");
    int oldLine = 1;
    int newLine = 1;
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
      if (printed > MAX_LINES) {
        return text.append("… more changes than are shown\n").toString();
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
