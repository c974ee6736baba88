CREATE TABLE image (
  name       TEXT PRIMARY KEY,
  source     TEXT    NOT NULL,
  origin     TEXT    NOT NULL,
  -- Of the last attempt; what an earlier one left stays usable.
  status     TEXT    NOT NULL,
  digest     TEXT,
  layers     TEXT    NOT NULL,
  size_bytes INTEGER NOT NULL,
  languages  TEXT    NOT NULL,
  failure    TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

-- Roots that are nobody's any more, while machines may still be on them.
CREATE TABLE retired_root (
  digest     TEXT    NOT NULL,
  layers     TEXT    NOT NULL,
  image      TEXT    NOT NULL,
  retired_at INTEGER NOT NULL
);
CREATE INDEX sandbox_image ON sandbox (image);
