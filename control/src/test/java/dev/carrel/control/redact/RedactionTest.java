package dev.carrel.control.redact;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class RedactionTest {
  private static final String SECRET = "p4ss/word+\"quoted\" \u00e9nd";

  private final List<String> alarms = new ArrayList<>();
  private final Redaction redaction = new Redaction(alarms::add);

  /** Random values, encodings and pieces: what was put in never comes out, all else does. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void noFormOfAnyValueLeaves(long seed) {
    var seeded = new SplittableRandom(seed);
    for (int round = 0; round < 150; round++) {
      var values = new ArrayList<Protected>();
      for (int i = 0; i <= seeded.nextInt(4); i++) {
        values.add(new Protected("S" + i, value(seeded), false));
      }
      var mine = new Redaction(_ -> {});
      mine.protect(values);
      var text = new ByteArrayOutputStream();
      var expected = new ByteArrayOutputStream();
      for (int i = 0; i < 1 + seeded.nextInt(6); i++) {
        // No letter of it is in any value or form, so that where a form ends is certain.
        byte[] filler = filler(seeded);
        text.writeBytes(filler);
        expected.writeBytes(filler);
        byte[] form = form(values.get(seeded.nextInt(values.size())).bytes(), seeded);
        text.writeBytes(form);
        expected.writeBytes(Redaction.MASK_BYTES);
      }
      text.writeBytes(filler(seeded));
      byte[] all = text.toByteArray();
      byte[] out = inPieces(mine.stream(), all, seeded);
      assertThat(new String(out, ISO_8859_1))
          .describedAs("seed %d, round %d", seed, round)
          .startsWith(new String(expected.toByteArray(), ISO_8859_1));
      byte[] same = inPieces(mine.sameLengthStream(), all, seeded);
      assertThat(same).hasSameSizeAs(all);
      for (Protected value : values) {
        for (byte[] form : Forms.of(value.bytes())) {
          assertThat(new String(out, ISO_8859_1)).doesNotContain(new String(form, ISO_8859_1));
          assertThat(new String(same, ISO_8859_1)).doesNotContain(new String(form, ISO_8859_1));
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13, 14})
  void whatHasNoValueInItIsUnchanged(long seed) {
    var random = new SplittableRandom(seed);
    redaction.protect(
        List.of(new Protected("A", SECRET, false), new Protected("B", "ababab", false)));
    for (int round = 0; round < 100; round++) {
      byte[] text = new byte[random.nextInt(5000)];
      // Few letters, all of them the values' own: nearly matches everywhere.
      for (int i = 0; i < text.length; i++) {
        text[i] = (byte) "abp4s/".charAt(random.nextInt(6));
      }
      String before = new String(text, ISO_8859_1);
      if (before.contains("ababab")) {
        continue;
      }
      assertThat(inPieces(redaction.stream(), text, random)).isEqualTo(text);
      assertThat(inPieces(redaction.sameLengthStream(), text, random)).isEqualTo(text);
      assertThat(redaction.bytes(text)).isSameAs(text);
      assertThat(redaction.text(before)).isSameAs(before);
    }
  }

  /** A form that is also the beginning of a longer one, as the very last thing. */
  @ParameterizedTest
  @ValueSource(longs = {21, 22, 23, 24})
  void noFormLeavesAtTheEndOfAStream(long seed) {
    var random = new SplittableRandom(seed);
    for (int round = 0; round < 100; round++) {
      String value = value(random);
      var mine = new Redaction(_ -> {});
      mine.protect(
          List.of(
              new Protected("A", value, false),
              new Protected("LONGER", value + value(random), false)));
      byte[] before = filler(random);
      for (byte[] form : Forms.of(value.getBytes(UTF_8))) {
        byte[] all = (latin(before) + latin(form)).getBytes(ISO_8859_1);
        byte[] same = inPieces(mine.sameLengthStream(), all, random);
        assertThat(latin(inPieces(mine.stream(), all, random)))
            .describedAs("seed %d, round %d: %s", seed, round, latin(form))
            .startsWith(latin(before) + Redaction.MASK)
            .doesNotContain(latin(form));
        assertThat(same).hasSameSizeAs(all);
        assertThat(latin(same)).startsWith(latin(before)).doesNotContain(latin(form));
      }
    }
  }

  @Test
  void aFormThatBeginsALongerOneIsHiddenAtTheEnd() {
    redaction.protect(List.of(new Protected("KEYA", "hunter22", false)));
    RedactedStream stream = redaction.stream();
    assertThat(text(stream.next(piece("a=aHVudGVyMjI"))) + text(stream.end()))
        .isEqualTo("a=" + Redaction.MASK);
    RedactedStream same = redaction.sameLengthStream();
    assertThat(text(same.next(piece("a=aHVudGVyMjI"))) + text(same.end()))
        .isEqualTo("a=***********");
  }

  @Test
  void aMaskOfTheSameLengthIsNamedWhereThatFits() {
    redaction.protect(
        List.of(
            new Protected("LONG", "sesame-open-the-door", false),
            new Protected("FITS", "fourteen-bytes", false),
            new Protected("SHORT", "thirteen-long", false)));
    RedactedStream same = redaction.sameLengthStream();
    String secrets = "<sesame-open-the-door><fourteen-bytes><thirteen-long>";
    assertThat(text(same.next(piece(secrets))) + text(same.end()))
        .isEqualTo("<***REDACTED*********><***REDACTED***><*************>");
  }

  @Test
  void whatIsHeldWhenNothingIsKnownAnyMoreIsHidden() {
    redaction.protect(List.of(new Protected("A", "sesame-open", false)));
    RedactedStream stream = redaction.stream();
    assertThat(text(stream.next(piece("ses")))).isEmpty();
    redaction.hideEverything();
    assertThat(text(stream.end())).isEqualTo(Redaction.MASK);
  }

  @Test
  void onlyCanariesAreWatchedForWhereSecretsMayPass() {
    var told = new ArrayList<String>();
    var mine = new Redaction(told::add);
    assertThat(mine.watches()).isFalse();
    mine.protect(
        List.of(
            new Protected("KEY", "ordinary-secret", false),
            new Protected("BAIT", "canary-value", true)));
    assertThat(mine.watches()).isTrue();

    RedactedStream stream = mine.canaryStream();
    assertThat(text(stream.next(piece("an ordinary-secret and cana")))).doesNotContain("cana");
    assertThat(stream.alarmed()).isFalse();
    assertThat(text(stream.next(piece("ry-value")))).doesNotContain("canary-value");
    assertThat(stream.alarmed()).isTrue();
    assertThat(told).containsExactly("BAIT");

    RedactedStream harmless = mine.canaryStream();
    assertThat(text(harmless.next(piece("ordinary-secret canary-"))) + text(harmless.end()))
        .isEqualTo("ordinary-secret canary-");
    assertThat(harmless.alarmed()).isFalse();
    mine.hideEverything();
    assertThat(mine.canaryStream().alarmed()).isTrue();
  }

  @Test
  void eachEncodingIsFound() {
    redaction.protect(List.of(new Protected("A", SECRET, false)));
    byte[] bytes = SECRET.getBytes(UTF_8);
    for (int before = 0; before < 3; before++) {
      for (int after = 0; after < 3; after++) {
        byte[] longer = ("x".repeat(before) + SECRET + "y".repeat(after)).getBytes(UTF_8);
        assertThat(redaction.text(Base64.getEncoder().encodeToString(longer)))
            .contains(Redaction.MASK)
            .hasSizeLessThan(Redaction.MASK.length() + 9);
        assertThat(redaction.text(Base64.getUrlEncoder().encodeToString(longer)))
            .contains(Redaction.MASK);
      }
    }
    assertThat(redaction.text(HexFormat.of().formatHex(bytes))).isEqualTo(Redaction.MASK);
    assertThat(redaction.text(HexFormat.of().withUpperCase().formatHex(bytes)))
        .isEqualTo(Redaction.MASK);
    assertThat(redaction.text("?q=" + URLEncoder.encode(SECRET, UTF_8) + "&"))
        .isEqualTo("?q=" + Redaction.MASK + "&");
    assertThat(redaction.text("{\"a\":\"p4ss/word+\\\"quoted\\\" \\u00e9nd\"}"))
        .isEqualTo("{\"a\":\"" + Redaction.MASK + "\"}");
    assertThat(redaction.text("{\"a\":\"p4ss\\/word+\\\"quoted\\\" \u00e9nd\"}"))
        .isEqualTo("{\"a\":\"" + Redaction.MASK + "\"}");
  }

  @Test
  void linesThatToolsWrapAreFoundToo() {
    String value = "0123456789".repeat(12);
    redaction.protect(List.of(new Protected("KEY", value, false)));
    String wrapped =
        Base64.getMimeEncoder(76, new byte[] {'\n'}).encodeToString(value.getBytes(UTF_8));
    assertThat(redaction.text(wrapped)).isEqualTo(Redaction.MASK);
  }

  @Test
  void onlyTheBeginningOfAValueIsHeldBack() {
    redaction.protect(List.of(new Protected("A", "sesame-open", false)));
    RedactedStream stream = redaction.stream();

    assertThat(text(stream.next(piece("say: ")))).isEqualTo("say: ");
    assertThat(text(stream.next(piece("$ ses")))).isEqualTo("$ ");
    assertThat(text(stream.next(piece("ame-open!")))).isEqualTo(Redaction.MASK + "!");
    assertThat(text(stream.next(piece("ses")))).isEmpty();
    assertThat(text(stream.end())).isEqualTo("ses");
    assertThat(text(stream.end())).isEmpty();
  }

  @Test
  void piecesWithoutAnythingInThemAreNotCopied() {
    ByteBuffer piece = piece("nothing to see here");
    assertThat(redaction.stream().next(piece)).isSameAs(piece);
    redaction.protect(List.of(new Protected("A", "sesame-open", false)));
    assertThat(redaction.stream().next(piece)).isSameAs(piece);
  }

  @Test
  void valuesThatOverlapHideEachOther() {
    redaction.protect(
        List.of(new Protected("A", "abcdefgh", false), new Protected("B", "efghijkl", false)));
    assertThat(redaction.text("<abcdefghijkl>")).isEqualTo("<" + Redaction.MASK + ">");
    var stream = redaction.stream();
    String out = text(stream.next(piece("<abcdefgh"))) + text(stream.next(piece("ijkl>")));
    assertThat(out + text(stream.end())).isEqualTo("<" + Redaction.MASK + ">");
  }

  @Test
  void aFloodOfAValueIsBounded() {
    redaction.protect(List.of(new Protected("A", "aaaaaaaa", false)));
    var stream = redaction.stream();
    var out = new StringBuilder();
    for (int i = 0; i < 1000; i++) {
      out.append(text(stream.next(piece("a".repeat(100)))));
    }
    assertThat(out.append(text(stream.end())).toString()).isEqualTo(Redaction.MASK);
  }

  @Test
  void aValueThatIsAddedWhileAStreamRunsIsHidden() {
    var stream = redaction.stream();
    assertThat(text(stream.next(piece("open ses")))).isEqualTo("open ses");
    redaction.protect(List.of(new Protected("A", "sesame-open", false)));
    assertThat(text(stream.next(piece("<sesame-open>")))).isEqualTo("<" + Redaction.MASK + ">");
  }

  @Test
  void aCutTextDoesNotEndWithHalfAValue() {
    redaction.protect(List.of(new Protected("A", "sesame-open", false)));
    assertThat(redaction.cutText("key=sesame-o")).isEqualTo("key=" + Redaction.MASK);
    assertThat(redaction.cutText("yes")).isEqualTo("yes");
    redaction.protect(List.of(new Protected("B", "key=sesame-open!", false)));
    assertThat(redaction.cutText("a key=sesame-open")).isEqualTo("a " + Redaction.MASK);
  }

  @Test
  void aCanaryIsToldByNameAndNothingElseIs() {
    redaction.protect(
        List.of(
            new Protected("BAIT", "tripwire-1", true), new Protected("KEY", "sesame-open", false)));
    redaction.text("sesame-open");
    assertThat(alarms).isEmpty();
    redaction.stream().next(piece(HexFormat.of().formatHex("tripwire-1".getBytes(UTF_8))));
    assertThat(alarms).containsExactly("BAIT");
    assertThat(new Protected("KEY", "sesame-open", false).toString()).doesNotContain("sesame");
  }

  private static String value(SplittableRandom random) {
    var value = new StringBuilder();
    int length = 6 + random.nextInt(60);
    for (int i = 0; i < length; i++) {
      value.append(
          switch (random.nextInt(10)) {
            case 0 -> "/+\"\\ ".charAt(random.nextInt(5));
            case 1 -> '\u00e9';
            default -> (char) ('a' + random.nextInt(26));
          });
    }
    return value.toString();
  }

  private static byte[] filler(SplittableRandom random) {
    byte[] filler = new byte[1 + random.nextInt(40)];
    for (int i = 0; i < filler.length; i++) {
      filler[i] = (byte) (i == 0 || random.nextBoolean() ? '\n' : '|');
    }
    return filler;
  }

  private static byte[] form(byte[] value, SplittableRandom random) {
    List<byte[]> forms = new ArrayList<>(Forms.of(value));
    byte[] form = forms.get(random.nextInt(forms.size()));
    assertThat(new String(form, ISO_8859_1).toLowerCase(Locale.ROOT)).isNotEmpty();
    return form;
  }

  private static byte[] inPieces(RedactedStream stream, byte[] text, SplittableRandom random) {
    var out = new ByteArrayOutputStream();
    for (int at = 0; at < text.length; ) {
      int length = Math.min(text.length - at, 1 + random.nextInt(random.nextBoolean() ? 3 : 200));
      ByteBuffer piece = ByteBuffer.wrap(text, at, length);
      write(out, stream.next(random.nextBoolean() ? piece : piece.asReadOnlyBuffer()));
      at += length;
    }
    write(out, stream.end());
    return out.toByteArray();
  }

  private static void write(ByteArrayOutputStream out, ByteBuffer bytes) {
    byte[] copy = new byte[bytes.remaining()];
    bytes.duplicate().get(copy);
    out.writeBytes(copy);
  }

  private static String latin(byte[] bytes) {
    return new String(bytes, ISO_8859_1);
  }

  private static ByteBuffer piece(String text) {
    return ByteBuffer.wrap(text.getBytes(UTF_8));
  }

  private static String text(ByteBuffer bytes) {
    return UTF_8.decode(bytes.duplicate()).toString();
  }
}
