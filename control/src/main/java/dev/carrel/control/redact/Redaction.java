package dev.carrel.control.redact;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What must not leave one sandbox, and the way out past it. Values are only ever added: a process
 * that was given one may still have it long after the vault has another. Safe for many threads;
 * costs a look at a field while there are no values.
 */
public final class Redaction {
  public static final String MASK = "***REDACTED***";

  static final byte[] MASK_BYTES = MASK.getBytes(StandardCharsets.US_ASCII);
  // Fewer bytes of a value at the end of a line that was cut are no value yet.
  private static final int TELLING = 4;

  private final Consumer<String> alarm;
  private volatile @Nullable Patterns patterns;
  private volatile @Nullable Patterns canaries;
  private volatile boolean hidden;
  private List<Protected> values = List.of();

  /**
   * @param alarm told the name of a canary whose value was about to leave; must not block
   */
  public Redaction(Consumer<String> alarm) {
    this.alarm = alarm;
  }

  /** From now on these do not leave either. */
  public synchronized void protect(Collection<Protected> more) {
    var all = new ArrayList<>(values);
    more.stream().filter(value -> !all.contains(value)).forEach(all::add);
    if (all.size() > values.size()) {
      values = List.copyOf(all);
      patterns = new Patterns(values);
      List<Protected> alarming = values.stream().filter(Protected::canary).toList();
      canaries = alarming.isEmpty() ? null : new Patterns(alarming);
    }
  }

  /** What must not leave is not known: so nothing does. */
  public void hideEverything() {
    hidden = true;
  }

  boolean hidden() {
    return hidden;
  }

  /** Whether all of these are kept in already. */
  public synchronized boolean protects(Collection<Protected> some) {
    return values.containsAll(some);
  }

  /** Whether anything has to be kept in. */
  public boolean active() {
    return patterns != null || hidden;
  }

  @Nullable Patterns patterns() {
    return patterns;
  }

  /** A stream of bytes on its way out, in pieces. */
  public RedactedStream stream() {
    return new RedactedStream(this, false, false);
  }

  /** As {@link #stream()}, with as many bytes as went in. */
  public RedactedStream sameLengthStream() {
    return new RedactedStream(this, true, false);
  }

  /** Whether there is anything whose leaving is an alarm. */
  public boolean watches() {
    return canaries != null || hidden;
  }

  @Nullable Patterns canaries() {
    return canaries;
  }

  /** As {@link #sameLengthStream()}, for what may have secrets in it but no canaries. */
  public RedactedStream canaryStream() {
    return new RedactedStream(this, true, true);
  }

  /** The longest that a value can be in any form; zero: there is none. */
  public int longest() {
    Patterns now = patterns;
    return now == null ? 0 : now.longest();
  }

  public String text(String text) {
    return active() ? redacted(text, false) : text;
  }

  /** Null stays null. */
  public @Nullable String textOrNull(@Nullable String text) {
    return text == null ? null : text(text);
  }

  /** As {@link #text}, of which the end is missing: there may be half a value before it. */
  public String cutText(String text) {
    return active() ? redacted(text, true) : text;
  }

  /** The same array when nothing is in it. */
  public byte[] bytes(byte[] bytes) {
    if (hidden) {
      return MASK_BYTES.clone();
    }
    Patterns now = patterns;
    if (now == null) {
      return bytes;
    }
    var found = new Spans();
    now.find(bytes, 0, bytes.length, found);
    tell(found);
    return found.isEmpty() ? bytes : masked(bytes, found);
  }

  /** Raises the alarm for the canaries among them. */
  void tell(Spans found) {
    found.canaries().forEach(alarm);
  }

  private String redacted(String text, boolean cut) {
    if (hidden) {
      return MASK;
    }
    Patterns now = patterns;
    if (now == null) {
      return text;
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    var found = new Spans();
    now.find(bytes, 0, bytes.length, found);
    int pending = cut ? now.pending(bytes, 0, bytes.length) : bytes.length;
    if (bytes.length - pending >= TELLING) {
      found.add(pending, bytes.length);
    }
    tell(found);
    return found.isEmpty() ? text : new String(masked(bytes, found), StandardCharsets.UTF_8);
  }

  private static byte[] masked(byte[] bytes, Spans found) {
    var out = new ByteArrayOutputStream(bytes.length);
    int at = 0;
    for (int i = 0; i < found.count(); i++) {
      out.write(bytes, at, found.start(i) - at);
      out.writeBytes(MASK_BYTES);
      at = found.end(i);
    }
    out.write(bytes, at, bytes.length - at);
    return out.toByteArray();
  }
}
