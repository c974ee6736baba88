package dev.carrel.control.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class TextEditTest {
  @Test
  void theOneExactPlaceIsReplaced() {
    assertThat(edit("b", "B").apply("a\nb\nc\n").text()).isEqualTo("a\nB\nc\n");
  }

  @Test
  void aNewTextMayBeEmpty() {
    assertThat(edit("b\n", "").apply("a\nb\nc\n").text()).isEqualTo("a\nc\n");
  }

  @Test
  void severalPlacesAreAnErrorThatNamesTheirLines() {
    assertThatThrownBy(() -> edit("x", "y").apply("x\n\nx x\n"))
        .isInstanceOf(SandboxException.class)
        .hasMessageContaining("found 3 times, at lines 1, 3, 3");
  }

  @Test
  void allPlacesAreReplacedWhenAsked() {
    TextEdit.Applied applied = new TextEdit("x", "xx", true).apply("x\n\nx x\n");
    assertThat(applied.text()).isEqualTo("xx\n\nxx xx\n");
    assertThat(applied.count()).isEqualTo(3);
  }

  @Test
  void anEmptyOldTextIsRefused() {
    assertThatThrownBy(() -> edit("", "y")).hasMessageContaining("must not be empty");
  }

  @Test
  void equalTextsAreRefused() {
    assertThatThrownBy(() -> edit("y", "y")).hasMessageContaining("must be different");
  }

  @Test
  void indentationMayDifferAndIsKept() {
    String text = "class A:\n    def f(self):\n        return 1\n";
    assertThat(edit("def f(self):\n    return 1", "def f(self):\n    return 2").apply(text).text())
        .isEqualTo("class A:\n    def f(self):\n        return 2\n");
  }

  @Test
  void spaceWithinALineMayDiffer() {
    assertThat(edit("x  =  1", "x = 2").apply("x =\t1\n").text()).isEqualTo("x = 2\n");
  }

  @Test
  void linesThatOverlapAreReplacedOnce() {
    TextEdit.Applied applied = new TextEdit("a \na \n", "b\n", true).apply("a\na\na\na\na\n");
    assertThat(applied.text()).isEqualTo("b\nb\na\n");
    assertThat(applied.count()).isEqualTo(2);
  }

  @Test
  void partOfALineIsNoLine() {
    notFound("xa\nb\n", "a \nb");
    assertThat(edit("a \nb", "c").apply("xa\na\nb").text()).isEqualTo("xa\nc");
  }

  @Test
  void escapesMayBeOneTooMany() {
    assertThat(edit("a\\nb", "c\\nd").apply("a\nb\n").text()).isEqualTo("c\nd\n");
  }

  @Test
  void windowsLineEndsStay() {
    assertThat(edit("a\nb", "c\nd").apply("a\r\nb\r\ne\r\n").text()).isEqualTo("c\r\nd\r\ne\r\n");
  }

  @Test
  void windowsLineEndsOfTheNewTextAreNotDoubled() {
    assertThat(edit("b", "c\r\nd\ne").apply("a\r\nb\r\n").text()).isEqualTo("a\r\nc\r\nd\r\ne\r\n");
  }

  @Test
  void emptyLinesAroundTheTextMakeNoDifference() {
    assertThat(edit("\n\na\n", "b").apply("x a y").text()).isEqualTo("x b y");
  }

  @Test
  void aBlockWithTheSameFirstAndLastLineOnlyIsNotTaken() {
    String text = "begin\nsomething else\nend\n";
    assertThatThrownBy(() -> edit("begin\nwhat was meant\nend", "x").apply(text))
        .hasMessageContaining("not found");
  }

  @Test
  void blankLinesAloneFitNowhere() {
    assertThatThrownBy(() -> edit(" \n \n", "x").apply("a\n\n\nb\n"))
        .hasMessageContaining("not found");
  }

  @Test
  void aDiffShowsWhatChangedAndWhere() {
    String before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
    assertThat(UnifiedDiff.of("/f", before, before.replace("8\n", "eight\n8½\n")))
        .isEqualTo("--- /f\n+++ /f\n@@ -5,6 +5,7 @@\n 5\n 6\n 7\n-8\n+eight\n+8½\n 9\n 10\n");
  }

  @Test
  void aDiffOfFarAwayChangesHasTwoParts() {
    String before = "a\n" + "x\n".repeat(20) + "b\n";
    String diff = UnifiedDiff.of("/f", before, before.replace("a\n", "A\n").replace("b\n", "B\n"));
    assertThat(diff)
        .contains("@@ -1,4 +1,4 @@\n-a\n+A\n", "@@ -19,4 +19,4 @@\n x\n x\n x\n-b\n+B\n");
  }

  @Test
  void aDiffOfALargeRewriteIsBounded() {
    String diff = UnifiedDiff.of("/f", "a\n".repeat(5000), "b\n".repeat(5000));
    assertThat(diff.lines().count()).isLessThan(500);
    assertThat(diff).contains("more changes than are shown");
  }

  @Test
  void aDiffSaysTheLinesOfAChangeFarDown() {
    String before = "x\r\n".repeat(100_000) + "a\n" + "y\n".repeat(100_000);
    assertThat(UnifiedDiff.of("/f", before, before.replace("a\n", "b\na\n")))
        .isEqualTo("--- /f\n+++ /f\n@@ -99998,6 +99998,7 @@\n x\n x\n x\n+b\n a\n y\n y\n");
  }

  @Test
  void aDiffOfLongLinesIsBounded() {
    String diff = UnifiedDiff.of("/f", "a".repeat(1 << 20), "b".repeat(1 << 20));
    assertThat(diff).isEqualTo("--- /f\n+++ /f\n… more changes than are shown\n");
  }

  @Test
  @Timeout(20)
  void aTextThatRepeatsItselfTakesNoLonger() {
    notFound("a".repeat(TextEdit.MAX_LENGTH), "a".repeat(300_000) + "b");
    notFound("a\n".repeat(TextEdit.MAX_LENGTH / 2), " a\n".repeat(300_000) + "b");
    String line = "a".repeat(2000);
    UnifiedDiff.of("/f", (line + "b\n").repeat(2000), (line + "c\n").repeat(2000));
  }

  @Test
  void manyShortLinesTakeLittleMemory() {
    String text = "a\n".repeat(TextEdit.MAX_LENGTH / 2);
    assertThat(allocated(() -> notFound(text, "z  z"))).isLessThan(64 << 20);
    assertThat(allocated(() -> UnifiedDiff.of("/f", text, text + "b\n"))).isLessThan(256 << 20);
    assertThat(allocated(() -> new TextEdit("a", "b", true).apply(text))).isLessThan(64 << 20);
  }

  @Test
  void aTextThatWouldBecomeTooLongIsRefused() {
    String text = "  a\n".repeat(100_000);
    tooLarge(new TextEdit("a", "b".repeat(1000), true), text);
    // Moved to a deep indentation it grows, to a shallow one it only costs time.
    tooLarge(edit("a \n", "b\n".repeat(10_000)), " ".repeat(10_000) + "a\n");
    tooLarge(
        new TextEdit(" ".repeat(10_000) + "a ", (" ".repeat(10_000) + "b\n").repeat(10), true),
        text);
  }

  private static void tooLarge(TextEdit edit, String text) {
    assertThatThrownBy(() -> edit.apply(text))
        .isInstanceOfSatisfying(
            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TOO_LARGE));
  }

  private static void notFound(String text, String wanted) {
    assertThatThrownBy(() -> edit(wanted, "x").apply(text)).hasMessageContaining("not found");
  }

  private static long allocated(Runnable work) {
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    work.run();
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  private static TextEdit edit(String before, String after) {
    return new TextEdit(before, after, false);
  }
}
