package dev.carrel.control.skill;

/**
 * What came of an upload.
 *
 * @param change whether anything is other than before
 */
public record Upload(Skill skill, Change change) {
  /** What an upload does. */
  public enum Change {
    /** There was none of this name. */
    ADDED,
    /** It has a new version. */
    UPDATED,
    /** The very same was there. */
    NONE
  }
}
