-- Petstore 2.0. No older release can use the store after this step.

-- The state of the store, in one row that every writer reads or changes. Triggers follow the new name.
ALTER TABLE catalogue RENAME TO petstore_state;

-- Identity, version and key revision before the last change of the identity, in hexadecimal. After a crash, the log alone
-- may contain that change. The file then still has these values, which proves that the log belongs to it.
ALTER TABLE petstore_state ADD COLUMN renamed_from TEXT;

-- A process of an older release that still has the file open reads this view instead of the table. Release 1.2.0 reads a
-- store that was handed over: it neither writes nor caches, and logs the label. Releases 1.0.0 and 1.1.0 read a corrupt
-- version. None can write to a view.
CREATE VIEW catalogue AS
SELECT only, x'' AS version, identity, revision, rewrites, 'sealed' AS state, identity AS other,
    'petstore 2.0.0, which has upgraded its schema: stop this process and start that release' AS label,
    x'' AS key_revision
FROM petstore_state;

DROP TABLE IF EXISTS relocation;

-- One row for each addition with an idempotency key, until it is purged. Identifiers ascend, so new rows are at the end.
-- A snapshot reads the rows in this order.
CREATE TABLE idempotency_record (
    pet_id INTEGER NOT NULL,
    id BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (pet_id, id)
) STRICT, WITHOUT ROWID;

-- The youngest row of each id is kept.
INSERT INTO idempotency_record
SELECT pet_id, id, fingerprint, created_at FROM (
    SELECT *, row_number() OVER (PARTITION BY id ORDER BY created_at DESC, seq DESC) AS age
    FROM idempotency
) WHERE age = 1
ORDER BY pet_id, id;

DROP TABLE idempotency;

DROP TABLE idempotency_index;

ALTER TABLE idempotency_record RENAME TO idempotency;

CREATE UNIQUE INDEX idempotency_by_id ON idempotency (id);

-- The purge deletes the oldest rows first.
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- Petstore 1.0.0 left the rights of its keys empty.
UPDATE api_key SET rights = CASE substr(prefix, 1, 4) WHEN 'pst_' THEN 'full' ELSE 'read-only' END
WHERE rights IS NULL;

-- The stamp of a key: another one after each change, and in general the highest of all. The steps between stamps are
-- random, so that the sum of the stamps also differs between two histories of the store.
ALTER TABLE api_key ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;

UPDATE api_key SET stamp = 1 + (random() & 0xffffffff);

CREATE INDEX api_key_by_stamp ON api_key (stamp);

DROP TRIGGER api_key_added;

DROP TRIGGER api_key_changed;

CREATE TRIGGER api_key_added AFTER INSERT ON api_key BEGIN
    UPDATE petstore_state SET key_revision = randomblob(16);
    UPDATE api_key SET stamp = 1 + (SELECT max(stamp) FROM api_key) + (random() & 0xffffffff) WHERE id = NEW.id;
END;

CREATE TRIGGER api_key_changed AFTER UPDATE OF
    id, name, digest, prefix, created_at, expires_at, revoked_at, rights
ON api_key BEGIN
    UPDATE petstore_state SET key_revision = randomblob(16);
    UPDATE api_key SET stamp = 1 + (SELECT max(stamp) FROM api_key) + (random() & 0xffffffff) WHERE id = NEW.id;
END;
