-- The mover finds the records of new animals by it. Made first: additions wait for it, reads do not.
CREATE INDEX IF NOT EXISTS idempotency_by_pet ON idempotency (pet_id);

-- What handing the store over to another one needs, in the one row that every writer of animals changes. The
-- version of a store that is not open is empty, so that no release reads animals from it.
ALTER TABLE catalogue
    ADD COLUMN identity bytea,
    ADD COLUMN revision bigint NOT NULL DEFAULT 0,
    ADD COLUMN rewrites bigint NOT NULL DEFAULT 0,
    ADD COLUMN state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'filling', 'sealed')),
    ADD COLUMN other bytea,
    ADD COLUMN label text;

UPDATE catalogue SET identity = decode(
    md5(random()::text || clock_timestamp()::text || txid_current()::text || pg_backend_pid()::text), 'hex'
);

CREATE FUNCTION petstore_sealed(state text, label text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PSMOV', MESSAGE = CASE state
        WHEN 'sealed' THEN 'was handed over to ' || label || '; use that one'
        WHEN 'filling' THEN
            'is being filled from another one, and ''petstore store move'' opens it when it holds everything'
        ELSE 'is not being filled by this mover any more' END;
END
$$;

-- Whoever changes animals changes this row in the same transaction, whatever its release: petstore itself, or the
-- trigger petstore_changed. An addition under the next identifiers says so, and is let through while the store is
-- open; a mover says which revision it fills. Every other change is counted as a rewrite.
CREATE FUNCTION petstore_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mover text := coalesce(current_setting('petstore.mover', true), '');
BEGIN
    IF mover = '' AND OLD.state <> 'open' THEN
        EXECUTE format('SELECT %I.petstore_sealed($1, $2)', TG_TABLE_SCHEMA) USING OLD.state, OLD.label;
    ELSIF mover <> '' AND (OLD.state <> 'filling' OR mover <> OLD.revision::text) THEN
        EXECUTE format('SELECT %I.petstore_sealed($1, $2)', TG_TABLE_SCHEMA) USING 'open', '';
    END IF;
    IF NEW.version <> OLD.version THEN
        NEW.rewrites := OLD.rewrites + 1;
    END IF;
    IF mover <> '' THEN
        NEW.version := OLD.version;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER petstore_guard BEFORE UPDATE ON catalogue FOR EACH ROW
    WHEN (NEW.revision = OLD.revision AND NOT (
        OLD.state = 'open' AND coalesce(current_setting('petstore.append', true), '') = 'on'
    ))
    EXECUTE FUNCTION petstore_guard();

-- Keys and purges do not change that row, so they look at it, and it cannot be changed until they have ended.
CREATE FUNCTION petstore_require_open() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    row record;
BEGIN
    EXECUTE format('SELECT state, label FROM %I.catalogue FOR SHARE', TG_TABLE_SCHEMA) INTO row;
    IF row.state <> 'open' THEN
        EXECUTE format('SELECT %I.petstore_sealed($1, $2)', TG_TABLE_SCHEMA) USING row.state, row.label;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER petstore_require_open AFTER INSERT OR UPDATE OR DELETE ON api_key
    FOR EACH STATEMENT WHEN (coalesce(current_setting('petstore.mover', true), '') = '')
    EXECUTE FUNCTION petstore_require_open();

CREATE TRIGGER petstore_require_open AFTER DELETE ON idempotency
    FOR EACH STATEMENT WHEN (coalesce(current_setting('petstore.writer', true), '') <> 'on')
    EXECUTE FUNCTION petstore_require_open();

-- The revision of the API keys, 16 random bytes, and the highest identifier that a key ever had. Whoever
-- changes keys, of whatever release, changes both in the same transaction; a use of a key is no change.
-- The function runs with the rights of the owner: whoever may change a key need not be allowed to write to
-- `catalogue`.
ALTER TABLE catalogue ADD COLUMN key_revision bytea, ADD COLUMN highest_key_id bigint;

CREATE FUNCTION petstore_renew_key_revision() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format(
        'UPDATE %1$I.catalogue SET key_revision = decode(md5($1), ''hex''), highest_key_id = '
        'greatest(highest_key_id, (SELECT max(id) FROM %1$I.api_key))',
        TG_TABLE_SCHEMA
    ) USING random()::text || clock_timestamp()::text || txid_current()::text;
    RETURN NULL;
END
$$;

CREATE TRIGGER petstore_changed AFTER INSERT OR DELETE OR TRUNCATE
    OR UPDATE OF id, name, digest, prefix, created_at, expires_at, revoked_at, rights ON api_key
    FOR EACH STATEMENT EXECUTE FUNCTION petstore_renew_key_revision();

UPDATE catalogue SET
    key_revision = decode(md5(random()::text || clock_timestamp()::text || txid_current()::text), 'hex'),
    highest_key_id = coalesce((SELECT max(id) FROM api_key), 0);

ALTER TABLE catalogue ALTER COLUMN key_revision SET NOT NULL, ALTER COLUMN highest_key_id SET NOT NULL;
