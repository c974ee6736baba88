-- What was done, in order; nothing is changed, and only retention removes. Each hash covers its
-- record and the hash before.
CREATE TABLE audit (
  sequence   INTEGER PRIMARY KEY,
  at_us      INTEGER NOT NULL,
  tenant     TEXT    NOT NULL,
  namespace  TEXT    NOT NULL,
  sandbox_id TEXT,
  action     TEXT    NOT NULL,
  -- The rest, a name and a value on two lines.
  body       TEXT    NOT NULL,
  hash       BLOB    NOT NULL
);
CREATE INDEX audit_tenant ON audit (tenant);
CREATE INDEX audit_sandbox ON audit (sandbox_id) WHERE sandbox_id IS NOT NULL;

-- Signed words about the chain: head, it came this far; pruned, what was before is gone on purpose.
CREATE TABLE audit_checkpoint (
  kind      TEXT    NOT NULL,
  sequence  INTEGER NOT NULL,
  at_us     INTEGER NOT NULL,
  hash      BLOB    NOT NULL,
  signature BLOB    NOT NULL,
  PRIMARY KEY (kind, sequence)
) WITHOUT ROWID;

-- Who started an exec, and the digest of what was asked: needed when another process sees its end.
ALTER TABLE exec ADD COLUMN principal TEXT NOT NULL DEFAULT '';
ALTER TABLE exec ADD COLUMN digest TEXT NOT NULL DEFAULT '';
