package dev.carrel.image;

/** Told how a long piece of work goes on; called by the thread that works. */
public interface Progress {
  /** Something else is being done now. */
  void step(String what);

  /**
   * How far the step is.
   *
   * @param total negative when nobody knows
   */
  void at(long done, long total);

  /** A line for the log. */
  void log(String line);

  /** For those who do not care. */
  static Progress ignored() {
    return new Progress() {
      @Override
      public void step(String what) {}

      @Override
      public void at(long done, long total) {}

      @Override
      public void log(String line) {}
    };
  }
}
