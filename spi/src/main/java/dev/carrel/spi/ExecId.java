package dev.carrel.spi;

/** Names one exec. Unguessable; fits a DNS label and a file name. */
public record ExecId(String value) {
  private static final String PREFIX = "ex";

  public ExecId {
    Ids.check(PREFIX, value, ErrorCode.EXEC_NOT_FOUND);
  }

  public static ExecId random() {
    return new ExecId(Ids.random(PREFIX));
  }

  @Override
  public String toString() {
    return value;
  }
}
