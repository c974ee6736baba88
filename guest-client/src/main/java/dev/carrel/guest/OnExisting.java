package dev.carrel.guest;

/** What a move or copy does with a file that is there already. */
public enum OnExisting {
  REPLACE,
  FAIL
}
