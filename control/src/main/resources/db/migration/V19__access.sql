-- What a sandbox becomes at the end of its life.
ALTER TABLE sandbox ADD COLUMN at_end TEXT NOT NULL DEFAULT 'stop';

-- Keys for clients; the key itself is told once and never stored.
CREATE TABLE api_key (
  id         TEXT PRIMARY KEY,
  digest     TEXT    NOT NULL UNIQUE,
  name       TEXT    NOT NULL,
  tenant     TEXT    NOT NULL,
  principal  TEXT    NOT NULL,
  role       TEXT    NOT NULL,
  -- The first characters, for people to tell keys apart.
  mask       TEXT    NOT NULL,
  created_by TEXT    NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX api_key_tenant ON api_key (tenant, created_at);
