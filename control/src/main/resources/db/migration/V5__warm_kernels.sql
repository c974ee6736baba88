-- NULL: the server's usual one.
ALTER TABLE context ADD COLUMN preload TEXT;
-- How its interpreter came to be: zygote or cold.
ALTER TABLE context ADD COLUMN start TEXT;
-- Nothing but its own guest ever starts a process in it.
ALTER TABLE sandbox ADD COLUMN isolated INTEGER NOT NULL DEFAULT 0;
