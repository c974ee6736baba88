package dev.carrel.control.store;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jdbi.v3.core.ConnectionException;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * Statements without Jdbi, which takes longer than SQLite does: for those that every sandbox and
 * every exec needs. Parameters are by place; the statements are kept as the handle's others are.
 */
public final class Sql {
  private Sql() {}

  /** Returns how many rows changed. */
  public static int update(Handle handle, String sql, @Nullable Object... values) {
    return run(handle, sql, values, PreparedStatement::executeUpdate);
  }

  /** The one row that a query always has. */
  public static <T> T one(Handle handle, String sql, Row<T> reader, @Nullable Object... values) {
    return run(
        handle,
        sql,
        values,
        statement -> {
          try (ResultSet rows = statement.executeQuery()) {
            if (!rows.next()) {
              throw new SQLException("no row where there is always one");
            }
            return reader.read(rows);
          }
        });
  }

  /** Every row, in the query's order. */
  public static <T> List<T> list(
      Handle handle, String sql, Row<T> reader, @Nullable Object... values) {
    return run(
        handle,
        sql,
        values,
        statement -> {
          var found = new ArrayList<T>();
          try (ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
              found.add(reader.read(rows));
            }
          }
          return found;
        });
  }

  private static <T> T run(Handle handle, String sql, @Nullable Object[] values, Run<T> use) {
    var kept = (KeptStatements) handle.getStatementBuilder();
    try {
      PreparedStatement statement = kept.take(handle.getConnection(), sql);
      boolean done = false;
      try {
        for (int i = 0; i < values.length; i++) {
          statement.setObject(i + 1, values[i]);
        }
        T result = use.with(statement);
        done = true;
        return result;
      } finally {
        if (done) {
          kept.keep(sql, statement);
        } else {
          // One that failed is not used again.
          statement.close();
        }
      }
    } catch (SQLException e) {
      throw new ConnectionException(e);
    }
  }

  /** Reads the row that a result set stands at. */
  public interface Row<T> {
    T read(ResultSet row) throws SQLException;
  }

  private interface Run<T> {
    T with(PreparedStatement statement) throws SQLException;
  }
}
