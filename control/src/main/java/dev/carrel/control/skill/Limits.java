package dev.carrel.control.skill;

import dev.carrel.image.Unpacker;

/** What skills may cost. */
final class Limits {
  static final long MAX_PACKAGE = 16L << 20;
  static final int MAX_MAIN = 1 << 20;
  static final int MAX_FRONT_MATTER = 64 * 1024;
  static final int MAX_AT_ONCE = 50;
  static final int MAX_OF_TENANT = 200;
  static final long MAX_BYTES_OF_TENANT = 256L << 20;

  static final Unpacker.Limits UNPACKED = new Unpacker.Limits(16L << 20, 1000, 100);

  private Limits() {}
}
