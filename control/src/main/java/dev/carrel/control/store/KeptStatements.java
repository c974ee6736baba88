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
    // One that is in use is not here, so a statement within itself gets one of its own.
    PreparedStatement kept = idle.remove(sql);
    PreparedStatement used =
        kept == null || kept.isClosed() ? super.create(connection, sql, context) : kept;
    texts.put(used, sql);
    return used;
  }

  @Override
  public void close(Connection connection, String sql, Statement statement) throws SQLException {
    String text = texts.remove(statement);
    if (text != null
        && statement instanceof PreparedStatement prepared
        && !prepared.isClosed()
        && idle.size() < MAX_KEPT) {
      // Values of the last use may be secret, and large.
      prepared.clearParameters();
      PreparedStatement other = idle.putIfAbsent(text, prepared);
      if (other == null) {
        return;
      }
    }
    super.close(connection, sql, statement);
  }
}
