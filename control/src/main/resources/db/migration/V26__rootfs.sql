-- Whether a sandbox may write to its root, and whether a copy of its files holds what it changed there.
ALTER TABLE sandbox ADD COLUMN rootfs TEXT NOT NULL DEFAULT 'read-only';
ALTER TABLE snapshot ADD COLUMN rootfs TEXT NOT NULL DEFAULT 'read-only';
