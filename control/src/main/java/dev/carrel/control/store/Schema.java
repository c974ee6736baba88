package dev.carrel.control.store;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import org.flywaydb.core.Flyway;
import org.sqlite.SQLiteDataSource;

/** The tables of the database, which each version finds as an older one or itself left them. */
final class Schema {
  /** The newest migration; when the file has it already, looking for others is skipped. */
  static final String NEWEST = "28";

  private Schema() {}

  static void bringUpToDate(SQLiteDataSource source, Path file) throws SQLException {
    String installed = installedVersion(source);
    if (NEWEST.equals(installed)) {
      return;
    }
    // Flyway itself would only warn, and what the newer one relies on would not be written.
    if (!installed.isEmpty() && Integer.parseInt(installed) > Integer.parseInt(NEWEST)) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "a newer version of Carrel has used the database %s: its schema is %s, and this version knows those up to %s"
                  .formatted(file, installed, NEWEST))
          .withHint(
              "start that version again, or one that is newer still; to go back, put a copy of the data directory in its place that was made before the upgrade");
    }
    Flyway.configure(Schema.class.getClassLoader())
        .dataSource(source)
        .locations("classpath:db/migration")
        .load()
        .migrate();
  }

  private static String installedVersion(SQLiteDataSource source) throws SQLException {
    try (Connection connection = source.getConnection();
        var statement = connection.createStatement()) {
      try (var table =
          statement.executeQuery(
              "SELECT 1 FROM sqlite_master WHERE name = 'flyway_schema_history'")) {
        if (!table.next()) {
          return "";
        }
      }
      try (var rows =
          statement.executeQuery(
              "SELECT version FROM flyway_schema_history WHERE success = 1"
                  + " ORDER BY installed_rank DESC LIMIT 1")) {
        return rows.next() ? String.valueOf(rows.getString(1)) : "";
      }
    }
  }
}
