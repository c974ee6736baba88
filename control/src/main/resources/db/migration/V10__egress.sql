ALTER TABLE sandbox ADD COLUMN network TEXT NOT NULL DEFAULT '';
ALTER TABLE sandbox DROP COLUMN network_enabled;

-- What went through the proxy: a budget outlives the server.
CREATE TABLE egress_use (
  sandbox_id  TEXT PRIMARY KEY REFERENCES sandbox (id) ON DELETE CASCADE,
  sent        INTEGER NOT NULL,
  received    INTEGER NOT NULL
);
