-- One host a line. Where there is one, the value enters no sandbox: it goes into requests to these.
ALTER TABLE secret ADD COLUMN hosts TEXT NOT NULL DEFAULT '';

-- Which secrets a sandbox was given a placeholder for.
CREATE TABLE secret_placeholder (
  sandbox_id TEXT NOT NULL,
  secret_id  TEXT NOT NULL,
  PRIMARY KEY (sandbox_id, secret_id)
) WITHOUT ROWID;
