CREATE TABLE sandbox (
  id               TEXT PRIMARY KEY,
  tenant           TEXT    NOT NULL,
  owner            TEXT    NOT NULL,
  status           TEXT    NOT NULL,
  generation       INTEGER NOT NULL,
  image            TEXT    NOT NULL,
  engine           TEXT    NOT NULL,
  runtime          TEXT    NOT NULL,
  isolation        TEXT,
  memory_bytes     INTEGER NOT NULL,
  cpus             REAL    NOT NULL,
  pids             INTEGER NOT NULL,
  disk_bytes       INTEGER NOT NULL,
  open_files       INTEGER NOT NULL,
  idle_timeout_ms  INTEGER NOT NULL,
  network_enabled  INTEGER NOT NULL,
  env_vars         TEXT    NOT NULL,
  metadata         TEXT    NOT NULL,
  session_key      TEXT,
  created_at       INTEGER NOT NULL,
  last_activity_at INTEGER NOT NULL,
  stopped_at       INTEGER,
  exec_count       INTEGER NOT NULL DEFAULT 0,
  exec_total_ms    INTEGER NOT NULL DEFAULT 0,
  bytes_uploaded   INTEGER NOT NULL DEFAULT 0,
  bytes_downloaded INTEGER NOT NULL DEFAULT 0,
  failure_cause    TEXT,
  failure_message  TEXT,
  failure_hint     TEXT
);

-- A key is free again once its sandbox no longer runs.
CREATE UNIQUE INDEX sandbox_session_key ON sandbox (tenant, session_key)
  WHERE session_key IS NOT NULL AND status IN ('creating', 'running');
CREATE INDEX sandbox_tenant ON sandbox (tenant, status);
CREATE INDEX sandbox_status ON sandbox (status);

CREATE TABLE exec (
  id                TEXT PRIMARY KEY,
  sandbox_id        TEXT    NOT NULL REFERENCES sandbox (id) ON DELETE CASCADE,
  arguments         TEXT    NOT NULL,
  cwd               TEXT,
  background        INTEGER NOT NULL,
  terminal          INTEGER NOT NULL,
  started_at        INTEGER NOT NULL,
  pid               INTEGER NOT NULL DEFAULT 0,
  ended_at          INTEGER,
  code              INTEGER,
  signal            INTEGER,
  cause             TEXT,
  duration_us       INTEGER,
  cpu_us            INTEGER,
  max_rss_bytes     INTEGER,
  descendants_left  INTEGER,
  message           TEXT,
  changes           TEXT,
  changes_truncated INTEGER,
  output_end        INTEGER NOT NULL DEFAULT 0,
  -- Small output is kept here, larger output in a file; both in the format of OutputLog.
  output            BLOB
);
CREATE INDEX exec_sandbox ON exec (sandbox_id, started_at);

CREATE TABLE context (
  id              TEXT PRIMARY KEY,
  sandbox_id      TEXT    NOT NULL REFERENCES sandbox (id) ON DELETE CASCADE,
  language        TEXT    NOT NULL,
  cwd             TEXT,
  environment     TEXT    NOT NULL,
  is_default      INTEGER NOT NULL,
  exec_id         TEXT,
  execution_count INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  last_used_at    INTEGER NOT NULL
);
CREATE INDEX context_sandbox ON context (sandbox_id);
-- Two first cells at once must not make two default contexts.
CREATE UNIQUE INDEX context_default ON context (sandbox_id, language) WHERE is_default = 1;
