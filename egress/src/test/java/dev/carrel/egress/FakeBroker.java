package dev.carrel.egress;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** One secret for one host, and one value that must not leave; finds them in whole pieces only. */
record FakeBroker(Target bound, TlsEnds ends) implements Broker {
  static final String PLACEHOLDER = "placeholder-0123456789";
  static final String VALUE = "the real & true value";
  static final String CANARY = "canary-in-the-mine";

  @Override
  public boolean brokers(Target target) {
    return target.equals(bound);
  }

  @Override
  public String fill(Target target, String text, UnaryOperator<String> written) {
    return target.equals(bound) ? text.replace(PLACEHOLDER, written.apply(VALUE)) : text;
  }

  @Override
  public Filter out() {
    return new Finder(CANARY);
  }

  @Override
  public Filter in() {
    return new Finder(VALUE) {
      @Override
      public @Nullable String found() {
        return null;
      }
    };
  }

  private static class Finder implements Filter {
    private final String wanted;
    private boolean seen;

    Finder(String wanted) {
      this.wanted = wanted;
    }

    @Override
    public ByteBuffer next(ByteBuffer piece) {
      String text = StandardCharsets.ISO_8859_1.decode(piece.duplicate()).toString();
      seen |= text.contains(wanted);
      return StandardCharsets.ISO_8859_1.encode(text.replace(wanted, "*".repeat(wanted.length())));
    }

    @Override
    public ByteBuffer end() {
      return ByteBuffer.allocate(0);
    }

    @Override
    public @Nullable String found() {
      return seen ? "a canary" : null;
    }
  }
}
