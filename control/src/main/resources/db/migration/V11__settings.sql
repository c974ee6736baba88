-- What an administrator changed while the server ran; it wins over the configuration.
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT NOT NULL
) WITHOUT ROWID;
