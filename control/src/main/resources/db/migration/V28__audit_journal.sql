-- Up to which number what was noted in the journal beside the database is in the chain.
CREATE TABLE audit_journal (written INTEGER NOT NULL);
INSERT INTO audit_journal (written) VALUES (0);
