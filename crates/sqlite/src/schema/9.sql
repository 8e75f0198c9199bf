-- What handing the store over to another one needs, in the one row that every writer reads or changes. The
-- version of a store that is not open is an empty blob, so that no release reads animals from it.
ALTER TABLE catalogue ADD COLUMN identity BLOB;

ALTER TABLE catalogue ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;

ALTER TABLE catalogue ADD COLUMN rewrites INTEGER NOT NULL DEFAULT 0;

ALTER TABLE catalogue ADD COLUMN state TEXT NOT NULL DEFAULT 'open';

ALTER TABLE catalogue ADD COLUMN other BLOB;

ALTER TABLE catalogue ADD COLUMN label TEXT;

UPDATE catalogue SET identity = randomblob(16);

-- Whoever changes an animal otherwise than by this release counts as having rewritten some, and is refused by a
-- store that is not open.
DROP TRIGGER pet_added;

DROP TRIGGER pet_changed;

DROP TRIGGER pet_removed;

CREATE TRIGGER pet_added AFTER INSERT ON pet BEGIN
    SELECT RAISE(ABORT, 'the store is handed over to another one, or is being filled')
    FROM catalogue WHERE state <> 'open';
    UPDATE catalogue SET version = randomblob(16), rewrites = rewrites + 1;
END;

CREATE TRIGGER pet_changed AFTER UPDATE ON pet BEGIN
    SELECT RAISE(ABORT, 'the store is handed over to another one, or is being filled')
    FROM catalogue WHERE state <> 'open';
    UPDATE catalogue SET version = randomblob(16), rewrites = rewrites + 1;
END;

CREATE TRIGGER pet_removed AFTER DELETE ON pet BEGIN
    SELECT RAISE(ABORT, 'the store is handed over to another one, or is being filled')
    FROM catalogue WHERE state <> 'open';
    UPDATE catalogue SET version = randomblob(16), rewrites = rewrites + 1;
END;

-- The mover finds the records of new animals by it.
CREATE INDEX IF NOT EXISTS idempotency_by_pet ON idempotency (pet_id);

-- The revision of the API keys, 16 random bytes. The triggers renew it in the transaction that changes a
-- key, whoever does that; a use of a key is no change.
ALTER TABLE catalogue ADD COLUMN key_revision BLOB NOT NULL DEFAULT x'';

UPDATE catalogue SET key_revision = randomblob(16);

CREATE TRIGGER api_key_added AFTER INSERT ON api_key BEGIN
    UPDATE catalogue SET key_revision = randomblob(16);
END;

CREATE TRIGGER api_key_changed AFTER UPDATE OF
    id, name, digest, prefix, created_at, expires_at, revoked_at, rights
ON api_key BEGIN
    UPDATE catalogue SET key_revision = randomblob(16);
END;

CREATE TRIGGER api_key_removed AFTER DELETE ON api_key BEGIN
    UPDATE catalogue SET key_revision = randomblob(16);
END;
