-- The whole schema. The rules about values are the domain's, and are checked where rows are read; the
-- constraints here are for whoever writes to the file by other means.

CREATE TABLE pet (
    -- AUTOINCREMENT: an identifier is never assigned twice, even when the highest row is deleted.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    category_id INTEGER NOT NULL,
    status TEXT CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;

-- A page of one status is read from one of these alone: it holds all that such a page shows. One index
-- for each status, as SQLite then compares identifiers only; in one index of all statuses it compares
-- the text of the status first, at each step of its search.
CREATE INDEX pet_available ON pet (id, name, category_id) WHERE status = 'available';

CREATE INDEX pet_pending ON pet (id, name, category_id) WHERE status = 'pending';

CREATE INDEX pet_sold ON pet (id, name, category_id) WHERE status = 'sold';

-- The version of the catalogue, in one row.
CREATE TABLE catalogue (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    version BLOB NOT NULL
) STRICT;

INSERT INTO catalogue (only, version) VALUES (1, randomblob(16));

-- The triggers change the version in the transaction that changes an animal, whoever does that: an
-- operator at the `sqlite3` prompt, too.
CREATE TRIGGER pet_added AFTER INSERT ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16);
END;

CREATE TRIGGER pet_changed AFTER UPDATE ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16);
END;

CREATE TRIGGER pet_removed AFTER DELETE ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16);
END;

-- One row for each addition that had an idempotency key, until it is purged, in the order in which
-- they come: a group of additions changes few pages of the table, and so does a purge.
CREATE TABLE idempotency (
    -- AUTOINCREMENT: what is above a number has come later, also when rows have been deleted.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    pet_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- Where the row of an id is. It is written later than the row (pets/idempotency/recent.rs), so it is
-- no index of SQLite's own. What it says of a row that is gone, or has another id, means nothing.
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
