-- What a key may do that no role brings with it; names with commas between them.
ALTER TABLE api_key ADD COLUMN permissions TEXT NOT NULL DEFAULT '';
