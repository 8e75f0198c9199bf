-- Schema 1. Rules about values are the domain's and are checked where rows are read; what stands
-- here is what SQLite needs to keep its own promises.

CREATE TABLE pet (
    -- AUTOINCREMENT: an identifier is never assigned twice, even when the highest row is gone.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    category_id INTEGER NOT NULL,
    status TEXT CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;

-- Every index ends in the rowid, which is `id`: this one serves a page of one status in order.
CREATE INDEX pet_by_status ON pet (status);

-- The mark of the catalogue's state. The triggers change it in the transaction that changes an
-- animal, whoever does that: an operator at the `sqlite3` prompt, too.
CREATE TABLE catalogue (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    version BLOB NOT NULL
) STRICT;

INSERT INTO catalogue (only, version) VALUES (1, randomblob(16));

CREATE TRIGGER pet_added AFTER INSERT ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16);
END;

CREATE TRIGGER pet_changed AFTER UPDATE ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16);
END;

CREATE TRIGGER pet_removed AFTER DELETE ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16);
END;

-- One row for each addition that had an idempotency key, until it is forgotten.
CREATE TABLE idempotency (
    caller BLOB NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    pet_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_age ON idempotency (created_at);

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
