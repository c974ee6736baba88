package dev.carrel.control.store;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import org.jdbi.v3.core.statement.DefaultStatementBuilder;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the prepared statements of one connection for their next use: SQLite spends as long on
 * reading a statement as on running it. Used by one thread at a time, as its connection is.
 */
final class KeptStatements extends DefaultStatementBuilder {
  // The texts are ours and few; those of searches vary and must not push the others out.
  private static final int MAX_KEPT = 100;

  private final Map<String, PreparedStatement> idle = new HashMap<>();
  // What is closed comes with the text before its named parameters were replaced.
  private final IdentityHashMap<Statement, String> texts = new IdentityHashMap<>();

  @Override
  public PreparedStatement create(Connection connection, String sql, StatementContext context)
      throws SQLException {
    PreparedStatement kept = idle(sql);
    PreparedStatement used = kept == null ? super.create(connection, sql, context) : kept;
    texts.put(used, sql);
    return used;
  }

  @Override
  public void close(Connection connection, String sql, Statement statement) throws SQLException {
    String text = texts.remove(statement);
    if (text != null && statement instanceof PreparedStatement prepared) {
      keep(text, prepared);
    } else {
      super.close(connection, sql, statement);
    }
  }

  /** For who does without Jdbi; to be given back or closed. */
  PreparedStatement take(Connection connection, String sql) throws SQLException {
    PreparedStatement kept = idle(sql);
    return kept == null ? connection.prepareStatement(sql) : kept;
  }

  /** Keeps it for the next use, or closes it when there are enough. */
  void keep(String sql, PreparedStatement statement) throws SQLException {
    if (statement.isClosed()) {
      return;
    }
    if (idle.size() < MAX_KEPT) {
      // Values of the last use may be secret, and large.
      statement.clearParameters();
      if (idle.putIfAbsent(sql, statement) == null) {
        return;
      }
    }
    statement.close();
  }

  // One that is in use is not here, so a statement within itself gets one of its own.
  private @Nullable PreparedStatement idle(String sql) throws SQLException {
    PreparedStatement kept = idle.remove(sql);
    return kept == null || kept.isClosed() ? null : kept;
  }
}
