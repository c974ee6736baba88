package dev.carrel.dist.config;

import dev.carrel.control.exec.ExecSettings;

/** The keys of {@link ExecSettings}. */
final class ExecKeys {
  private static final int MANY = 1 << 20;
  private static final int MOST_CHARACTERS = 64 << 20;

  private ExecKeys() {}

  static ExecSettings read(Settings settings) {
    ExecSettings usual = ExecSettings.defaults();
    return new ExecSettings(
        settings.duration("exec.default-timeout", usual.defaultTimeout()),
        settings.duration("exec.max-timeout", usual.maxTimeout()),
        settings.duration("exec.max-background-timeout", usual.maxBackgroundTimeout()),
        settings.number("exec.max-concurrent", usual.maxConcurrent(), 1, MANY),
        settings.number("exec.max-retained", usual.maxRetained(), 0, MANY),
        settings.number("exec.stdout-chars", usual.stdoutChars(), 0, MOST_CHARACTERS),
        settings.number("exec.stderr-chars", usual.stderrChars(), 0, MOST_CHARACTERS),
        settings.size("exec.spill", usual.spill()),
        settings.size("exec.spill-per-sandbox", usual.spillPerSandbox()),
        settings.size("exec.max-stdin", usual.maxStdin()));
  }
}
