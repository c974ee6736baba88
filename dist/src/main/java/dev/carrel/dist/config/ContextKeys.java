package dev.carrel.dist.config;

import dev.carrel.control.context.ContextSettings;

/** The keys of {@link ContextSettings}. */
final class ContextKeys {
  private static final int MANY = 1 << 20;
  private static final int MOST_CHARACTERS = 64 << 20;

  private ContextKeys() {}

  static ContextSettings read(Settings settings) {
    ContextSettings usual = ContextSettings.defaults();
    return new ContextSettings(
        settings.duration("context.default-timeout", usual.defaultTimeout()),
        settings.duration("context.max-timeout", usual.maxTimeout()),
        settings.duration("context.interrupt-grace", usual.interruptGrace()),
        settings.duration("context.start-timeout", usual.startTimeout()),
        settings.choice("context.preload", usual.preload()),
        settings.flag("context.warm-at-start", usual.warmAtStart()),
        settings.number("context.max-contexts", usual.maxContexts(), 1, MANY),
        settings.number("context.max-queued", usual.maxQueued(), 0, MANY),
        settings.size("context.max-code", usual.maxCode()),
        settings.size("context.max-display", usual.maxDisplay()),
        settings.size("context.max-frame", usual.maxFrame()),
        settings.number("context.stdout-chars", usual.stdoutChars(), 0, MOST_CHARACTERS),
        settings.number("context.stderr-chars", usual.stderrChars(), 0, MOST_CHARACTERS),
        settings.number("context.result-chars", usual.resultChars(), 0, MOST_CHARACTERS),
        settings.number("context.traceback-chars", usual.tracebackChars(), 0, MOST_CHARACTERS));
  }
}
