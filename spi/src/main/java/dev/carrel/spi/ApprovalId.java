package dev.carrel.spi;

/** Names one request for approval. Unguessable; fits a DNS label and a file name. */
public record ApprovalId(String value) {
  private static final String PREFIX = "ap";

  public ApprovalId {
    Ids.check(PREFIX, value, ErrorCode.APPROVAL_NOT_FOUND);
  }

  public static ApprovalId random() {
    return new ApprovalId(Ids.random(PREFIX));
  }

  @Override
  public String toString() {
    return value;
  }
}
