-- What a sandbox or a namespace may use up in all, and has used since that was set. NULL: no limit.
CREATE TABLE budget (
  tenant           TEXT    NOT NULL,
  kind             TEXT    NOT NULL,
  -- The id of a sandbox, or the name of a namespace.
  name             TEXT    NOT NULL,
  -- Seconds; what is used is nanoseconds.
  cpu_limit        INTEGER,
  egress_limit     INTEGER,
  executions_limit INTEGER,
  cpu_used         INTEGER NOT NULL,
  egress_used      INTEGER NOT NULL,
  executions_used  INTEGER NOT NULL,
  PRIMARY KEY (tenant, kind, name)
) WITHOUT ROWID;

-- How much of a running machine's CPU time has been counted: it goes on while no server looks.
CREATE TABLE budget_meter (
  sandbox_id TEXT PRIMARY KEY,
  cpu_nanos  INTEGER NOT NULL
) WITHOUT ROWID;
