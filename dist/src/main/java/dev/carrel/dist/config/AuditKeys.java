package dev.carrel.dist.config;

import dev.carrel.control.audit.AuditSettings;

/** The keys of {@link AuditSettings}. */
final class AuditKeys {
  private static final int MANY = 1 << 20;

  private AuditKeys() {}

  static AuditSettings read(Settings settings) {
    AuditSettings usual = AuditSettings.defaults();
    return new AuditSettings(
        settings.flag("audit.enabled", usual.enabled()),
        settings.number("audit.output-chars", usual.outputChars(), 0, MANY),
        settings.number("audit.checkpoint-records", usual.checkpointRecords(), 1, MANY),
        settings.duration("audit.checkpoint-interval", usual.checkpointInterval()),
        settings.duration("audit.max-age", usual.maxAge()),
        settings.size("audit.max-size", usual.maxSize()));
  }
}
