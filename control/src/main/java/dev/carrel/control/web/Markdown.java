package dev.carrel.control.web;

import dev.carrel.spi.Text;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.jsoup.nodes.Element;
import org.jsoup.nodes.Node;
import org.jsoup.nodes.TextNode;

/**
 * HTML as Markdown, to be read and not to be rendered: nothing is escaped that a reader would
 * stumble over. How deep it may go is bounded by who parsed it, and how much it may say by who
 * asks: a page of a few megabytes could be written out as gigabytes.
 */
final class Markdown {
  private static final Set<String> DROPPED =
      Set.of(
          "script",
          "style",
          "noscript",
          "template",
          "iframe",
          "object",
          "svg",
          "canvas",
          "form",
          "button",
          "input",
          "select",
          "textarea",
          "head",
          "audio",
          "video",
          "dialog");
  private static final int MAX_CELL = 300;
  private static final int MAX_COLUMNS = 100;
  // Deeper, lines are not moved in further.
  private static final int MAX_MARGIN = 64;
  // Deeper, marks within marks are left out: each level copies what is within it.
  private static final int MAX_DEPTH = 32;

  private final Set<Element> leftOut;
  private final int most;
  private final int depth;
  private final StringBuilder out = new StringBuilder();
  // What stands at the start of each line: quotes, and the room of list items.
  private final StringBuilder margin = new StringBuilder();
  private boolean lineIsNew = true;
  private boolean blankDue;
  private String blankMargin = "";
  // The mark of a list item stands, and nothing after it yet.
  private boolean marked;
  private int items;
  private boolean cut;
  // Also with room for half a character that did not fit.
  private boolean full;

  private Markdown(Set<Element> leftOut, int most, int depth) {
    this.leftOut = leftOut;
    this.most = most;
    this.depth = depth;
  }

  /**
   * @param leftOut what is not shown, by identity
   * @param most so many characters
   */
  static Markdown of(Element root, Set<Element> leftOut, int most) {
    return of(root, leftOut, most, 0);
  }

  private static Markdown of(Element root, Set<Element> leftOut, int most, int depth) {
    var markdown = new Markdown(leftOut, most, depth);
    markdown.children(root);
    return markdown;
  }

  String text() {
    return out.toString().strip();
  }

  /** Whether there was more to say. */
  boolean isCut() {
    return cut;
  }

  private void children(Element parent) {
    for (Node child : parent.childNodes()) {
      if (cut) {
        return;
      }
      if (child instanceof TextNode text) {
        words(text.text());
      } else if (child instanceof Element element
          && isShown(element)
          && !leftOut.contains(element)) {
        element(element);
      }
    }
  }

  private static boolean isShown(Element element) {
    return !DROPPED.contains(element.normalName())
        && !element.hasAttr("hidden")
        && !element.attr("aria-hidden").equals("true")
        && !element
            .attr("style")
            .replace(" ", "")
            .toLowerCase(Locale.ROOT)
            .contains("display:none");
  }

  private void element(Element element) {
    switch (element.normalName()) {
      case "h1", "h2", "h3", "h4", "h5", "h6" -> heading(element);
      case "br" -> newLine();
      case "hr" -> block(() -> put("---"));
      case "pre" -> code(element);
      case "blockquote" -> block(() -> within("> ", () -> children(element)));
      case "ul", "ol", "menu" -> list(element);
      case "dt" -> block(() -> around("**", element));
      case "dd" -> block(() -> within("  ", () -> children(element)));
      case "table" -> table(element);
      case "strong", "b" -> around("**", element);
      case "em", "i" -> around("*", element);
      case "del", "s" -> around("~~", element);
      case "code", "kbd", "samp", "tt" -> inlineCode(element);
      case "a" -> link(element);
      case "img" -> image(element);
      default -> {
        if (element.isBlock()) {
          block(() -> children(element));
        } else {
          children(element);
        }
      }
    }
  }

  private void heading(Element element) {
    String mark = "#".repeat(element.normalName().charAt(1) - '0') + " ";
    if (depth >= MAX_DEPTH) {
      block(() -> children(element));
      return;
    }
    String text = inline(element);
    if (!text.isEmpty()) {
      block(() -> put(mark + text));
    }
  }

  /** Its words in one line. */
  private String inline(Element element) {
    // One more than there is room for, so that who puts it there notices.
    Markdown inner = of(element, leftOut, room() + 1, depth + 1);
    cut |= inner.cut;
    return inner.oneLine();
  }

  private String oneLine() {
    return out.toString()
        .lines()
        .map(String::strip)
        .filter(line -> !line.isEmpty())
        .collect(Collectors.joining(" "));
  }

  private void code(Element pre) {
    String whole = pre.wholeText().stripTrailing();
    String text = whole.startsWith("\n") ? whole.substring(1) : whole;
    if (text.isEmpty()) {
      return;
    }
    String fence = text.contains("```") ? "````" : "```";
    block(
        () -> {
          put(fence + language(pre));
          for (int from = 0; from <= text.length() && !cut; ) {
            int end = text.indexOf('\n', from);
            String line = text.substring(from, end < 0 ? text.length() : end);
            newLine();
            put(line.stripTrailing());
            from = end < 0 ? text.length() + 1 : end + 1;
          }
          newLine();
          put(fence);
        });
  }

  private static String language(Element pre) {
    for (Element element : pre.select("[class*=language-]")) {
      for (String name : element.classNames()) {
        if (name.startsWith("language-") && name.matches("language-[A-Za-z0-9+#-]{1,20}")) {
          return name.substring("language-".length());
        }
      }
    }
    return "";
  }

  private void list(Element list) {
    boolean ordered = list.normalName().equals("ol");
    boolean nested = items > 0;
    if (nested) {
      endLine();
    } else {
      dueBlank();
    }
    int number = 1;
    for (Element item : list.children()) {
      if (cut) {
        return;
      }
      if (isShown(item) && !leftOut.contains(item)) {
        String mark = ordered ? number++ + ". " : "- ";
        endLine();
        put(mark);
        lineIsNew = true;
        marked = true;
        items++;
        within(" ".repeat(mark.length()), () -> children(item));
        items--;
        marked = false;
        lineIsNew = out.charAt(out.length() - 1) == '\n';
        endLine();
        blankDue = false;
      }
    }
    if (!nested) {
      dueBlank();
    }
  }

  private void table(Element table) {
    List<Element> rows = rows(table);
    int widest = rows.stream().mapToInt(Element::childrenSize).max().orElse(0);
    int columns = Math.min(widest, MAX_COLUMNS);
    // Pages are laid out with tables, too.
    if (columns < 2 || rows.size() < 2 || depth >= MAX_DEPTH) {
      block(() -> children(table));
      return;
    }
    block(
        () -> {
          for (int i = 0; i < rows.size() && !cut; i++) {
            endLine();
            put(line(rows.get(i).children(), columns));
            if (i == 0) {
              newLine();
              put("|" + " --- |".repeat(columns));
            }
          }
        });
  }

  private static List<Element> rows(Element table) {
    var rows = new ArrayList<Element>();
    for (Element child : table.children()) {
      if (child.normalName().equals("tr")) {
        rows.add(child);
      } else {
        child.children().stream().filter(row -> row.normalName().equals("tr")).forEach(rows::add);
      }
    }
    return rows;
  }

  private String cell(Element cell) {
    Markdown inner = of(cell, leftOut, MAX_CELL + 1, depth + 1);
    String text = inner.oneLine().replace("|", "\\|");
    return text.length() <= MAX_CELL && !inner.cut ? text : Text.head(text, MAX_CELL) + "…";
  }

  private String line(List<Element> cells, int columns) {
    var text = new StringBuilder("|");
    for (int i = 0; i < columns; i++) {
      text.append(' ').append(i < cells.size() ? cell(cells.get(i)) : "").append(" |");
    }
    return text.toString();
  }

  private void around(String mark, Element element) {
    if (depth >= MAX_DEPTH) {
      children(element);
      return;
    }
    String text = inline(element);
    if (!text.isEmpty()) {
      put(mark + text + mark);
    }
  }

  private void inlineCode(Element element) {
    String text = element.text();
    if (!text.isEmpty()) {
      put("`" + text + "`");
    }
  }

  private void link(Element link) {
    if (depth >= MAX_DEPTH) {
      children(link);
      return;
    }
    String text = inline(link);
    String target = link.absUrl("href");
    if (text.isEmpty()) {
      return;
    }
    boolean leads = target.startsWith("http://") || target.startsWith("https://");
    boolean here = link.attr("href").startsWith("#");
    put(leads && !here ? "[" + text + "](" + target + ")" : text);
  }

  private void image(Element image) {
    String what = image.attr("alt").strip();
    String source = image.absUrl("src");
    if (!what.isEmpty() && source.startsWith("http")) {
      put("![" + what.replaceAll("\\s+", " ") + "](" + source + ")");
    }
  }

  private void block(Runnable content) {
    dueBlank();
    content.run();
    dueBlank();
  }

  private void within(String more, Runnable content) {
    int length = margin.length();
    if (length + more.length() <= MAX_MARGIN) {
      margin.append(more);
    }
    content.run();
    margin.setLength(length);
  }

  private void dueBlank() {
    endLine();
    if (!blankDue || margin.length() < blankMargin.length()) {
      blankMargin = margin.toString().stripTrailing();
    }
    blankDue = true;
  }

  private void endLine() {
    if (!lineIsNew) {
      newLine();
    }
  }

  private void newLine() {
    if (!out.isEmpty() && room() > 0) {
      out.append('\n');
    }
    lineIsNew = true;
  }

  /** Text of a page: blanks are one blank, and none at the start of a line. */
  private void words(String text) {
    String words = text.replaceAll("\\s+", " ");
    if (lineIsNew) {
      words = words.stripLeading();
    }
    if (!words.isEmpty()) {
      put(words);
    }
  }

  private void put(String text) {
    if (!marked) {
      if (blankDue && !out.isEmpty()) {
        append(blankMargin);
        append("\n");
      }
      if (out.isEmpty() || out.charAt(out.length() - 1) == '\n') {
        append(margin);
      }
    }
    marked = false;
    blankDue = false;
    append(text);
    lineIsNew = false;
  }

  private void append(CharSequence text) {
    int fits = Text.cut(text, room());
    out.append(text, 0, fits);
    full |= fits < text.length();
    cut |= full;
  }

  private int room() {
    return full ? 0 : most - out.length();
  }
}
