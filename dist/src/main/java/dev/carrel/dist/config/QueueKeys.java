package dev.carrel.dist.config;

import dev.carrel.control.admission.QueueSettings;

/** The keys of {@link QueueSettings}. */
final class QueueKeys {
  private static final int MANY = 1 << 20;

  private QueueKeys() {}

  static QueueSettings read(Settings settings) {
    QueueSettings usual = QueueSettings.defaults();
    return new QueueSettings(
        settings.number("queue.max-creates", usual.maxCreates(), 1, MANY),
        settings.number("queue.max-executions", usual.maxExecutions(), 1, MANY),
        settings.number("queue.max-waiting", usual.maxWaiting(), 0, MANY),
        settings.duration("queue.max-wait", usual.maxWait()));
  }
}
