package dev.carrel.guest;

/** How far a removal goes. */
public enum RemoveOption {
  /** Folders with all they hold. */
  RECURSIVE,
  /** It is no error when nothing is there. */
  MISSING_OK
}
