package dev.carrel.control.budget;

import dev.carrel.control.budget.Budget.Kind;
import dev.carrel.control.budget.Budget.Scope;
import dev.carrel.spi.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;

/** Rows of budgets, and of how far the CPU of machines has been counted. */
final class BudgetStore {
  private BudgetStore() {}

  static List<Account> all(Handle handle) {
    return handle.createQuery("SELECT * FROM budget").map(BudgetStore::read).list();
  }

  static void put(Handle handle, Account account) {
    Map<Resource, Long> limits = account.limits();
    handle.execute(
        "INSERT INTO budget (tenant, kind, name, cpu_limit, egress_limit, executions_limit,"
            + " cpu_used, egress_used, executions_used) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            + " ON CONFLICT (tenant, kind, name) DO UPDATE SET cpu_limit = excluded.cpu_limit,"
            + " egress_limit = excluded.egress_limit,"
            + " executions_limit = excluded.executions_limit, cpu_used = excluded.cpu_used,"
            + " egress_used = excluded.egress_used, executions_used = excluded.executions_used",
        account.scope().tenant(),
        kind(account.scope()),
        account.scope().name(),
        limits.get(Resource.CPU_SECONDS),
        limits.get(Resource.EGRESS_BYTES),
        limits.get(Resource.EXECUTIONS),
        account.used(Resource.CPU_SECONDS),
        account.used(Resource.EGRESS_BYTES),
        account.used(Resource.EXECUTIONS));
  }

  static void remove(Handle handle, Scope scope) {
    handle.execute(
        "DELETE FROM budget WHERE tenant = ? AND kind = ? AND name = ?",
        scope.tenant(),
        kind(scope),
        scope.name());
  }

  /** How far each machine was counted. */
  static Map<SandboxId, Long> counted(Handle handle) {
    return handle
        .createQuery("SELECT sandbox_id, cpu_nanos FROM budget_meter")
        .map(
            (row, _) ->
                Map.entry(new SandboxId(row.getString("sandbox_id")), row.getLong("cpu_nanos")))
        .collectToMap(Map.Entry::getKey, Map.Entry::getValue);
  }

  static void counted(Handle handle, SandboxId sandbox, long nanos) {
    handle.execute(
        "INSERT INTO budget_meter (sandbox_id, cpu_nanos) VALUES (?, ?)"
            + " ON CONFLICT (sandbox_id) DO UPDATE SET cpu_nanos = excluded.cpu_nanos",
        sandbox.value(),
        nanos);
  }

  static void forget(Handle handle, SandboxId sandbox) {
    handle.execute("DELETE FROM budget_meter WHERE sandbox_id = ?", sandbox.value());
  }

  private static String kind(Scope scope) {
    return scope.kind().name().toLowerCase(Locale.ROOT);
  }

  private static Account read(ResultSet row, StatementContext context) throws SQLException {
    var scope =
        new Scope(
            row.getString("tenant"),
            Kind.valueOf(row.getString("kind").toUpperCase(Locale.ROOT)),
            row.getString("name"));
    var limits = new EnumMap<Resource, Long>(Resource.class);
    limit(row, "cpu_limit", Resource.CPU_SECONDS, limits);
    limit(row, "egress_limit", Resource.EGRESS_BYTES, limits);
    limit(row, "executions_limit", Resource.EXECUTIONS, limits);
    return new Account(
        scope,
        limits,
        Map.of(
            Resource.CPU_SECONDS, row.getLong("cpu_used"),
            Resource.EGRESS_BYTES, row.getLong("egress_used"),
            Resource.EXECUTIONS, row.getLong("executions_used")));
  }

  private static void limit(
      ResultSet row, String column, Resource resource, Map<Resource, Long> limits)
      throws SQLException {
    long value = row.getLong(column);
    if (!row.wasNull()) {
      limits.put(resource, value);
    }
  }
}
