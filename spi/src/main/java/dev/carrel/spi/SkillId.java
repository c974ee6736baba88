package dev.carrel.spi;

/** Names one skill. Unguessable; fits a DNS label and a file name. */
public record SkillId(String value) {
  private static final String PREFIX = "sk";

  public SkillId {
    Ids.check(PREFIX, value, ErrorCode.SKILL_NOT_FOUND);
  }

  public static SkillId random() {
    return new SkillId(Ids.random(PREFIX));
  }

  @Override
  public String toString() {
    return value;
  }
}
