package dev.carrel.egress;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * What bytes on their way go through. As many come out as went in, unless something was found that
 * must not pass. For one stream and one thread.
 */
public interface Filter {
  /** Lets everything pass. */
  Filter NONE =
      new Filter() {
        @Override
        public ByteBuffer next(ByteBuffer piece) {
          return piece;
        }

        @Override
        public ByteBuffer end() {
          return ByteBuffer.allocate(0);
        }
      };

  /** What may go on now; the rest waits for what follows it. */
  ByteBuffer next(ByteBuffer piece);

  /** What was held back, when nothing more comes. */
  ByteBuffer end();

  /** What must not pass, in a few words; null: nothing of that kind so far. */
  default @Nullable String found() {
    return null;
  }
}
