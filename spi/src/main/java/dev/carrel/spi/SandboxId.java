package dev.carrel.spi;

/** Names one sandbox. Unguessable; fits a DNS label and a file name. */
public record SandboxId(String value) {
  private static final String PREFIX = "sb";

  public SandboxId {
    Ids.check(PREFIX, value, ErrorCode.SANDBOX_NOT_FOUND);
  }

  public static SandboxId random() {
    return new SandboxId(Ids.random(PREFIX));
  }

  @Override
  public String toString() {
    return value;
  }
}
