-- The first schema. The domain has the rules for values and checks each row that is read. The constraints here are for
-- other programs that write to the file.

CREATE TABLE pet (
    -- AUTOINCREMENT: an identifier is never assigned twice, even when the highest row is deleted.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    category_id INTEGER NOT NULL,
    status TEXT CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;

-- A page of one status is read from one of these indexes alone. With one index for each status, SQLite compares only
-- identifiers; in a common index, it would also compare the text of the status at each step.
CREATE INDEX pet_available ON pet (id, name, category_id) WHERE status = 'available';

CREATE INDEX pet_pending ON pet (id, name, category_id) WHERE status = 'pending';

CREATE INDEX pet_sold ON pet (id, name, category_id) WHERE status = 'sold';

-- The version of the catalogue in one row.
CREATE TABLE catalogue (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    version BLOB NOT NULL
) STRICT;

INSERT INTO catalogue (only, version) VALUES (1, randomblob(16));

-- The triggers renew the version in each transaction that changes an animal, also of an operator at the `sqlite3` prompt.
CREATE TRIGGER pet_added AFTER INSERT ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16);
END;

CREATE TRIGGER pet_changed AFTER UPDATE ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16);
END;

CREATE TRIGGER pet_removed AFTER DELETE ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16);
END;

-- One row for each addition with an idempotency key, until it is purged. The rows are in the order of additions, so a
-- group of additions changes few pages, and so does a purge.
CREATE TABLE idempotency (
    -- AUTOINCREMENT: what is above a number has come later, also when rows have been deleted.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    pet_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- The seq of the row with an id. Releases before 2.0 write it later than the row, so it is no index of SQLite. An entry
-- whose row is gone or has another id is ignored.
CREATE TABLE idempotency_index (
    id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;

-- Times are milliseconds since the Unix epoch.
CREATE TABLE api_key (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT;

CREATE INDEX api_key_by_name ON api_key (name);
