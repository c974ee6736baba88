-- What tenants taught their agents. A name is a tenant's own; another upload of it is the next version.
CREATE TABLE skill (
  id            TEXT PRIMARY KEY,
  tenant        TEXT    NOT NULL,
  name          TEXT    NOT NULL,
  description   TEXT    NOT NULL,
  -- All that SKILL.md begins with, as JSON.
  front_matter  TEXT    NOT NULL,
  source        TEXT    NOT NULL,
  digest        TEXT    NOT NULL,
  version       INTEGER NOT NULL,
  package_bytes INTEGER NOT NULL,
  size_bytes    INTEGER NOT NULL,
  file_count    INTEGER NOT NULL,
  created_by    TEXT    NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  UNIQUE (tenant, name)
);

CREATE TABLE skill_file (
  skill_id   TEXT    NOT NULL REFERENCES skill (id) ON DELETE CASCADE,
  path       TEXT    NOT NULL,
  size_bytes INTEGER NOT NULL,
  executable INTEGER NOT NULL,
  digest     TEXT    NOT NULL,
  content    BLOB    NOT NULL,
  PRIMARY KEY (skill_id, path)
);

-- What a sandbox was given; stays when the skill itself is deleted, goes with the sandbox.
CREATE TABLE sandbox_skill (
  sandbox_id   TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  skill_id     TEXT    NOT NULL,
  digest       TEXT    NOT NULL,
  version      INTEGER NOT NULL,
  installed_at INTEGER NOT NULL,
  PRIMARY KEY (sandbox_id, name)
);
