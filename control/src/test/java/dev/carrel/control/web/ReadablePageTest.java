package dev.carrel.control.web;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ReadablePageTest {
  private static final int MOST = 100_000;
  private static final int MEGABYTE = 1 << 20;

  private static String markdown(String html) throws IOException {
    return page(html).text();
  }

  private static ReadablePage page(String html) throws IOException {
    return ReadablePage.of(
        html.getBytes(StandardCharsets.UTF_8),
        "text/html; charset=utf-8",
        "https://example.com/a/b",
        MOST);
  }

  @Test
  void noCharacterIsHalvedWhereAPageIsCut() throws IOException {
    String face = "\ud83d\ude00";
    String words = "a".repeat(9) + face + "b";
    assertThat(cut(words, "text/plain")).isEqualTo(new ReadablePage("", "a".repeat(9), true));
    assertThat(cut("<p>" + words + "<p>c", "text/html"))
        .isEqualTo(new ReadablePage("", "a".repeat(9), true));
    for (int room = 298; room <= 302; room++) {
      String cell = "a".repeat(room) + face + "b";
      assertThat(markdown("<table><tr><td>x<td>y<tr><td>" + cell + "<td>z</table>"))
          .contains("| " + "a".repeat(Math.min(room, 300)) + (room == 298 ? face : "") + "… | z |");
    }
  }

  private static ReadablePage cut(String text, String type) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return ReadablePage.of(bytes, type + "; charset=utf-8", "https://example.com/", 10);
  }

  @Test
  void blocksBecomeMarkdown() throws IOException {
    String html =
        """
        <h1>A  title</h1><p>One <b>bold</b>
          and <em>soft</em> <code>x &lt; y</code>.<br>Next line</p><hr>
        <ul><li>first<ul><li>inner</li></ul></li><li>second <a href="../c?d=1">link</a></li></ul>
        <ol><li>one</li><li><p>two</p><p>more</p></li></ol>
        <blockquote><p>said</p><p>again</p></blockquote>
        <pre><code class="language-python">def f():
            return 1
        </code></pre>
        """;
    assertThat(markdown(html))
        .isEqualTo(
            """
            # A title

            One **bold** and *soft* `x < y`.
            Next line

            ---

            - first
              - inner
            - second [link](https://example.com/c?d=1)

            1. one
            2. two

               more

            > said
            >
            > again

            ```python
            def f():
                return 1
            ```""");
  }

  @Test
  void tablesKeepTheirCells() throws IOException {
    String html =
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1|2</td><td>x<br>y</td></tr><tr><td>3</td></tr></table>";
    assertThat(markdown(html)).isEqualTo("| a | b |\n| --- | --- |\n| 1\\|2 | x y |\n| 3 |  |");
  }

  @Test
  void whatNobodySeesIsNotThere() throws IOException {
    String html =
        """
        <title> The  title </title><script>alert(1)</script><style>p{}</style><p hidden>no</p>
        <p style="display: none">no</p><p aria-hidden=true>no</p><a href="javascript:alert(1)">go</a>
        <img src="/x.png" alt="a picture"><img src="/y.png"><svg><text>no</text></svg>
        """;
    assertThat(page(html))
        .isEqualTo(
            new ReadablePage("The title", "go ![a picture](https://example.com/x.png)", false));
  }

  @Test
  void theMainPartIsKeptAndWhatSurroundsItIsNot() throws IOException {
    String words = "<p>" + "something worth reading, ".repeat(20) + "</p>";
    String around = "<nav><a href=/>Home</a></nav><div class=sidebar>Ad</div>";
    assertThat(markdown("<body>" + around + "<main>" + words + "</main><footer>(c)</footer>"))
        .startsWith("something worth")
        .doesNotContain("Home", "Ad", "(c)");
    assertThat(
            markdown(
                "<body><div>" + around + "<div id=x>" + words + words + "</div></div><footer>(c)"))
        .startsWith("something worth")
        .doesNotContain("Home", "Ad", "(c)");
    assertThat(markdown("<body><nav><a href=/>Home</a></nav><p>Short.</p>"))
        .contains("Home", "Short.");
  }

  @Test
  void bytesAreReadInTheCharsetThatIsMeant() throws IOException {
    byte[] latin = "<p>caf\u00e9".getBytes(StandardCharsets.ISO_8859_1);
    assertThat(ReadablePage.of(latin, "text/html;charset=ISO-8859-1", "", MOST).text())
        .isEqualTo("caf\u00e9");
    byte[] meta = "<meta charset=shift_jis><p>\u65e5\u672c".getBytes(Charset.forName("Shift_JIS"));
    assertThat(ReadablePage.of(meta, "text/html", "", MOST).text()).isEqualTo("\u65e5\u672c");
    byte[] plain = "a < b\n".getBytes(StandardCharsets.UTF_8);
    assertThat(ReadablePage.of(plain, "text/plain", "", MOST).text()).isEqualTo("a < b\n");
    assertThat(ReadablePage.of(plain, "text/plain; charset=no-such", "", MOST).text())
        .isEqualTo("a < b\n");
  }

  @Test
  void deepAndBrokenPagesEnd() throws IOException {
    assertThat(markdown("<div>".repeat(200_000) + "deep")).contains("deep");
    byte[] lists = ("<ul><li>".repeat(50_000) + "deep").getBytes(StandardCharsets.UTF_8);
    assertThat(ReadablePage.of(lists, "text/html", "", 50 * MEGABYTE).text()).contains("deep");
    assertThat(markdown("<table><tr><td>".repeat(3_000) + "deep")).contains("deep");
    assertThat(markdown("")).isEmpty();
  }

  /** Each of them is a tree of gigabytes. */
  @Test
  @Timeout(60)
  void pagesThatGrowWhileTheyAreReadEnd() throws IOException {
    var marks = new StringBuilder("<title>t</title><p>");
    var attributes = new StringBuilder("<title>t</title><p>");
    for (int i = 0; i < 12; i++) {
      marks.append("<b a").append(i).append('>');
      attributes.append("<b a").append(i);
      for (int j = 0; j < 400; j++) {
        attributes.append(" b").append(j);
      }
      attributes.append('>');
    }
    String value = "<title>t</title><p><b a=\"" + "v".repeat(100_000) + "\">";
    for (String start : List.of(marks.toString(), attributes.toString(), value)) {
      byte[] html = (start + "<p>x".repeat(MEGABYTE / 4)).getBytes(StandardCharsets.UTF_8);
      ReadablePage page = ReadablePage.of(html, "text/html", "", 50 * MEGABYTE);
      assertThat(page.cut()).isTrue();
      assertThat(page.title()).isEqualTo("t");
      assertThat(page.text()).contains("x");
    }
  }

  @Test
  void noMoreIsSaidThanThereIsRoomFor() throws IOException {
    String words = "word ".repeat(MOST / 5 - 1) + "last!";
    assertThat(page("<p>" + words + "</p><br><p></p>"))
        .isEqualTo(new ReadablePage("", words, false));
    assertThat(page("<p>" + words + "</p><p>more")).isEqualTo(new ReadablePage("", words, true));
    assertThat(page("<p>first</p>" + "<br>".repeat(MOST) + "<p>more"))
        .isEqualTo(new ReadablePage("", "first", true));
    assertThat(page("<br>".repeat(MOST) + "<p>more").text()).isEqualTo("more");
    assertThat(page("<p>" + words.repeat(2)).text()).hasSize(MOST);
    assertThat(page("<b>" + words.repeat(2) + "</b>").text()).hasSize(MOST);
    assertThat(page("<b>" + words + "</b>").cut()).isTrue();
    byte[] plain = words.repeat(2).getBytes(StandardCharsets.UTF_8);
    assertThat(ReadablePage.of(plain, "text/plain", "", MOST))
        .isEqualTo(new ReadablePage("", words, true));
  }

  /** Each of them would be written out as gigabytes, or read in hours. */
  @Test
  @Timeout(60)
  void pagesThatAreMadeToExhaustTheServerDoNot() throws IOException {
    String blanks = " ".repeat(5 * MEGABYTE);
    for (String html :
        List.of(
            "<blockquote>".repeat(300) + "a<br>".repeat(MEGABYTE),
            "<ul><li>".repeat(200) + "<ul></ul>".repeat(MEGABYTE / 2),
            "<table><tr>" + "<td>".repeat(50_000) + "</tr>" + "<tr></tr>".repeat(MEGABYTE / 4),
            "<pre>x\n" + blanks + "x</pre>",
            "<b><pre>x" + blanks + "x</pre></b>",
            "<pre>" + "\nx".repeat(2 * MEGABYTE) + "</pre>",
            "<b><i>".repeat(250) + "some words ".repeat(MEGABYTE / 2),
            "<table><tr><td>a<td><tr><td>".repeat(100) + "b ".repeat(MEGABYTE),
            "<nav></nav>".repeat(MEGABYTE / 4) + "words")) {
      assertThat(page(html).text()).describedAs(html.substring(0, 30)).hasSizeLessThan(MOST + 1);
    }
  }

  @Test
  void whatIsTooDeepToBeMarkedIsStillThere() throws IOException {
    assertThat(markdown("<b><i>".repeat(100) + "deep")).contains("deep", "***");
    assertThat(markdown("<h1><a href=/x>" + "<b>".repeat(100) + "deep"))
        .contains("deep", "https://example.com/x");
    assertThat(markdown("<blockquote>".repeat(100) + "deep")).endsWith("> deep");
  }
}
