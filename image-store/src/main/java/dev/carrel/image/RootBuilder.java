package dev.carrel.image;

import java.io.IOException;
import java.nio.file.Path;

/** One way to make a root of packages. Safe for many threads. */
interface RootBuilder {
  /** What it is, for the log. */
  String name();

  /** Makes a root. Leaves nothing behind when it throws. */
  Made make(Job job) throws IOException, InterruptedException;

  /**
   * What is to be made.
   *
   * @param epoch seconds; no file is to be newer
   * @param layers takes the root
   * @param files a folder that is there for this alone
   */
  record Job(
      Recipe recipe, BuildOrder order, long epoch, Layers layers, Path files, Progress progress) {}

  /**
   * What came of it.
   *
   * @param release codename of the distribution's release
   */
  record Made(Digest layer, String release) {}
}
