-- What somebody asked a person to allow, and what came of it.
CREATE TABLE approval (
  id         TEXT PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  namespace  TEXT    NOT NULL,
  -- NULL: it is about no sandbox in particular.
  sandbox_id TEXT,
  kind       TEXT    NOT NULL,
  subject    TEXT    NOT NULL,
  scope      TEXT    NOT NULL,
  reason     TEXT    NOT NULL,
  requester  TEXT    NOT NULL,
  status     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  -- When the request ends undecided, then when the grant ends; NULL: a grant without end.
  ends_at    INTEGER,
  decided_at INTEGER,
  decided_by TEXT,
  note       TEXT
);
CREATE INDEX approval_tenant ON approval (tenant, created_at);
CREATE INDEX approval_open ON approval (status) WHERE status IN ('pending', 'approved');
