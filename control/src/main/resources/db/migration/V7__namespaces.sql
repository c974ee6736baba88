-- The label inside a tenant that secrets, policies and records go by.
ALTER TABLE sandbox ADD COLUMN namespace TEXT NOT NULL DEFAULT 'default';
