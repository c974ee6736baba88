package dev.carrel.spi;

/** Names one context. Unguessable; fits a DNS label and a file name. */
public record ContextId(String value) {
  private static final String PREFIX = "cx";

  public ContextId {
    Ids.check(PREFIX, value, ErrorCode.CONTEXT_NOT_FOUND);
  }

  public static ContextId random() {
    return new ContextId(Ids.random(PREFIX));
  }

  @Override
  public String toString() {
    return value;
  }
}
