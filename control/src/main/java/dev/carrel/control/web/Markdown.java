package dev.carrel.control.web;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jsoup.nodes.Element;
import org.jsoup.nodes.Node;
import org.jsoup.nodes.TextNode;

/**
 * HTML as Markdown, to be read and not to be rendered: nothing is escaped that a reader would
 * stumble over. How deep it may go is bounded by who parsed it.
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

  private final StringBuilder out = new StringBuilder();
  // What stands at the start of each line: quotes, and the room of list items.
  private final StringBuilder margin = new StringBuilder();
  private boolean lineIsNew = true;
  private boolean blankDue;
  private String blankMargin = "";
  // The mark of a list item stands, and nothing after it yet.
  private boolean marked;

  private Markdown() {}

  static String of(Element root) {
    var markdown = new Markdown();
    markdown.children(root);
    return markdown.out.toString().strip();
  }

  private void children(Element parent) {
    for (Node child : parent.childNodes()) {
      if (child instanceof TextNode text) {
        words(text.text());
      } else if (child instanceof Element element && isShown(element)) {
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
    String text = inline(element);
    if (!text.isEmpty()) {
      block(() -> put("#".repeat(element.normalName().charAt(1) - '0') + " " + text));
    }
  }

  /** Its words in one line. */
  private static String inline(Element element) {
    return of(element).replaceAll("\\s*\n\\s*", " ").strip();
  }

  private void code(Element pre) {
    String text = pre.wholeText().replaceAll("\\s+$", "").replaceFirst("^\n", "");
    if (text.isEmpty()) {
      return;
    }
    String fence = text.contains("```") ? "````" : "```";
    block(
        () -> {
          put(fence + language(pre));
          for (String line : text.split("\n", -1)) {
            newLine();
            put(line.stripTrailing());
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
    boolean nested = list.closest("li") != null;
    if (nested) {
      endLine();
    } else {
      dueBlank();
    }
    int number = 1;
    for (Element item : list.children()) {
      if (isShown(item)) {
        String mark = ordered ? number++ + ". " : "- ";
        endLine();
        put(mark);
        lineIsNew = true;
        marked = true;
        within(" ".repeat(mark.length()), () -> children(item));
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
    int columns = rows.stream().mapToInt(Element::childrenSize).max().orElse(0);
    // Pages are laid out with tables, too.
    if (columns < 2 || rows.size() < 2) {
      block(() -> children(table));
      return;
    }
    block(
        () -> {
          for (int i = 0; i < rows.size(); i++) {
            endLine();
            put(line(rows.get(i).children().stream().map(Markdown::cell).toList(), columns));
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

  private static String cell(Element cell) {
    String text = inline(cell).replace("|", "\\|");
    return text.length() <= MAX_CELL ? text : text.substring(0, MAX_CELL) + "…";
  }

  private static String line(List<String> cells, int columns) {
    var text = new StringBuilder("|");
    for (int i = 0; i < columns; i++) {
      text.append(' ').append(i < cells.size() ? cells.get(i) : "").append(" |");
    }
    return text.toString();
  }

  private void around(String mark, Element element) {
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
    margin.append(more);
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
    out.append('\n');
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
        out.append(blankMargin).append('\n');
      }
      if (out.isEmpty() || out.charAt(out.length() - 1) == '\n') {
        out.append(margin);
      }
    }
    marked = false;
    blankDue = false;
    out.append(text);
    lineIsNew = false;
  }
}
