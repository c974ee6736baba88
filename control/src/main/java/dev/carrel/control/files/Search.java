package dev.carrel.control.files;

/**
 * Finds a text among characters that come one by one. Knuth, Morris and Pratt: the time is linear
 * also where text repeats itself, which {@link String#indexOf(String)} cannot promise.
 */
final class Search {
  private final String wanted;
  private final int[] shorter;
  private int matched;

  Search(String wanted) {
    this.wanted = wanted;
    this.shorter = new int[wanted.length()];
    for (int i = 1, length = 0; i < shorter.length; i++) {
      while (length > 0 && wanted.charAt(length) != wanted.charAt(i)) {
        length = shorter[length - 1];
      }
      if (wanted.charAt(length) == wanted.charAt(i)) {
        length++;
      }
      shorter[i] = length;
    }
  }

  /** Whether the wanted text ends with this character. What is found does not overlap. */
  boolean next(char c) {
    while (matched > 0 && wanted.charAt(matched) != c) {
      matched = shorter[matched - 1];
    }
    if (wanted.charAt(matched) == c) {
      matched++;
    }
    if (matched < shorter.length) {
      return false;
    }
    matched = 0;
    return true;
  }
}
