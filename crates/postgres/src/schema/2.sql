-- Rules about values are the domain's and are checked where rows are read; what is here is what the
-- database needs to keep its own promises. Plain SQL: no triggers, no extensions.

-- Identifiers of animals: assigned once, in growing order, on whatever instance.
CREATE SEQUENCE pet_id;

CREATE TABLE pet (
    id bigint PRIMARY KEY DEFAULT nextval('pet_id'),
    name text NOT NULL,
    category_id bigint NOT NULL,
    status text CHECK (status IN ('available', 'pending', 'sold'))
);

-- One for each filter, so that a page of a rare status never walks over all the others: the planner
-- finds these cheaper whatever its statistics say.
CREATE INDEX pet_available ON pet (id) WHERE status = 'available';
CREATE INDEX pet_pending ON pet (id) WHERE status = 'pending';
CREATE INDEX pet_sold ON pet (id) WHERE status = 'sold';

-- The catalogue's version, 16 random bytes, written by each transaction that changes an animal. The
-- count of changes says which of two versions is the later one. All who change animals lock this
-- row until they have committed, so versions and states come in one order.
CREATE TABLE catalogue (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    version bytea NOT NULL,
    changes bigint NOT NULL
);

-- Idempotency records: one row for each addition that had a key, until it is purged. An id is 16
-- bytes of a digest over the caller and the key.
CREATE TABLE idempotency (
    id bytea PRIMARY KEY,
    fingerprint bytea NOT NULL,
    pet_id bigint NOT NULL,
    created_at bigint NOT NULL
);

CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE SEQUENCE api_key_id;

-- Times are milliseconds since the Unix epoch.
CREATE TABLE api_key (
    id bigint PRIMARY KEY DEFAULT nextval('api_key_id'),
    name text NOT NULL,
    digest bytea NOT NULL UNIQUE,
    prefix text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint
);

CREATE INDEX api_key_by_name ON api_key (name);

-- Whoever adds, rolls or revokes a key locks this row first: changes of keys come one after the
-- other.
CREATE TABLE api_key_guard (
    only_row integer PRIMARY KEY CHECK (only_row = 1)
);

INSERT INTO api_key_guard (only_row) VALUES (1);

-- The version of this schema.
CREATE TABLE petstore_schema (
    version bigint PRIMARY KEY
);
