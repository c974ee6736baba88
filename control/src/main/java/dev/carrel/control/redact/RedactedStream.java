package dev.carrel.control.redact;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Bytes that come in pieces. Only an end that could be the beginning of a value is held back until
 * more is known, never more than the longest form of one; everything else goes on at once. For one
 * thread.
 */
public final class RedactedStream {
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
  private static final byte PAD = '*';

  private final Redaction redaction;
  private final boolean sameLength;
  private final boolean canariesOnly;
  private final Spans found = new Spans();
  private byte[] held = {};
  // So many of the held bytes belong to something that was masked already.
  private int covered;
  private boolean known;
  private boolean alarmed;

  RedactedStream(Redaction redaction, boolean sameLength, boolean canariesOnly) {
    this.redaction = redaction;
    this.sameLength = sameLength;
    this.canariesOnly = canariesOnly;
  }

  /** Whether a canary was in it so far, or could have been. */
  public boolean alarmed() {
    return alarmed || redaction.hidden();
  }

  /** Whether what comes now has passed before: then its canaries were told already. */
  public void known(boolean newKnown) {
    known = newKnown;
  }

  /** What may go on now: the same buffer when nothing has to be done. */
  public ByteBuffer next(ByteBuffer piece) {
    if (redaction.hidden()) {
      return hide(piece.remaining());
    }
    Patterns patterns = canariesOnly ? redaction.canaries() : redaction.patterns();
    if (patterns == null) {
      return piece;
    }
    byte[] data;
    int from;
    int to;
    if (held.length == 0 && piece.hasArray()) {
      data = piece.array();
      from = piece.arrayOffset() + piece.position();
      to = from + piece.remaining();
    } else {
      data = Arrays.copyOf(held, held.length + piece.remaining());
      piece.duplicate().get(data, held.length, piece.remaining());
      from = 0;
      to = data.length;
    }
    find(patterns, data, from, to);
    if (!known) {
      redaction.tell(found);
    }
    int until = patterns.pending(data, from, to);
    if (found.isEmpty() && until == to && held.length == 0) {
      return piece;
    }
    return ByteBuffer.wrap(pass(data, from, until, to));
  }

  /** What was held back, when nothing more comes: nothing of it is the beginning of more now. */
  public ByteBuffer end() {
    if (held.length == 0) {
      return NOTHING;
    }
    Patterns patterns = canariesOnly ? redaction.canaries() : redaction.patterns();
    if (patterns == null || redaction.hidden()) {
      return hide(held.length - covered);
    }
    // Its canaries were told when it came.
    find(patterns, held, 0, held.length);
    return ByteBuffer.wrap(pass(held, 0, held.length, held.length));
  }

  private void find(Patterns patterns, byte[] data, int from, int to) {
    found.clear();
    if (covered > 0) {
      found.add(from, from + covered);
    }
    patterns.find(data, from, to, found);
    alarmed |= !found.canaries().isEmpty();
  }

  private ByteBuffer hide(int length) {
    held = new byte[0];
    covered = 0;
    byte[] mask = sameLength ? new byte[length] : Redaction.MASK_BYTES.clone();
    if (sameLength) {
      Arrays.fill(mask, PAD);
    }
    return ByteBuffer.wrap(mask);
  }

  private byte[] pass(byte[] data, int from, int until, int to) {
    var out = new ByteArrayOutputStream(to - from);
    int at = from;
    for (int i = 0; i < found.count(); i++) {
      int start = found.start(i);
      int end = found.end(i);
      boolean goesOn = i == 0 && covered > 0;
      if (start >= until && !goesOn) {
        // Found whole, and yet the beginning of something longer.
        break;
      }
      out.write(data, at, start - at);
      mask(out, start, end, goesOn ? covered : 0);
      at = end;
    }
    if (until > at) {
      out.write(data, at, until - at);
    }
    held = Arrays.copyOfRange(data, until, to);
    covered = Math.max(0, at - until);
    return out.toByteArray();
  }

  /**
   * @param done so many bytes of it were masked before
   */
  private void mask(ByteArrayOutputStream out, int start, int end, int done) {
    if (!sameLength) {
      if (done == 0) {
        out.writeBytes(Redaction.MASK_BYTES);
      }
      return;
    }
    int length = end - start - done;
    int named =
        done == 0 && length >= Redaction.MASK_BYTES.length ? Redaction.MASK_BYTES.length : 0;
    out.write(Redaction.MASK_BYTES, 0, named);
    for (int i = named; i < length; i++) {
      out.write(PAD);
    }
  }
}
