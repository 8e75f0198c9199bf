-- Older releases must no longer read or write animals, even if they are running. Each of their statements selects a row of
-- `catalogue` by `only_row`, and so fails with this reason.
ALTER TABLE catalogue RENAME TO petstore_state;

CREATE FUNCTION petstore_refuse_older() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PSMOV', MESSAGE =
        'was upgraded for petstore 2.0.0, and older releases cannot use it: end this process, and start petstore 2.0.0';
END
$$;

CREATE VIEW catalogue AS
    SELECT petstore_refuse_older() AS only_row, version, changes, identity, revision, rewrites, state, other, label,
        key_revision, highest_key_id
    FROM petstore_state;

GRANT SELECT, UPDATE ON catalogue TO PUBLIC;

-- Each commit writes another version of the one row of `petstore_state`. While an older snapshot is open, for example for
-- a dump, the server keeps all of them. The newest version has the highest `changes`, so it is the last entry of this
-- index, and no statement reads the others.
ALTER TABLE petstore_state DROP CONSTRAINT catalogue_pkey, ADD CONSTRAINT petstore_state_pkey PRIMARY KEY (changes);

CREATE OR REPLACE FUNCTION petstore_sealed(state text, label text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PSMOV', MESSAGE = CASE state
        WHEN 'sealed' THEN 'was handed over to ' || label || '; use that one'
        WHEN 'filling' THEN
            'is being filled from another store and is not complete: run the same ''petstore store copy'', '
            '''store move'' or ''restore'' again'
        ELSE 'is no longer being filled by this command' END;
END
$$;

-- The functions of the triggers use the new name, and lock the newest version of the row.
DO $$
DECLARE
    function text;
BEGIN
    FOR function IN
        SELECT replace(replace(pg_get_functiondef(oid), 'I.catalogue FOR', 'I.catalogue ORDER BY changes DESC LIMIT 1 FOR'),
            'I.catalogue', 'I.petstore_state')
        FROM pg_proc WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
            AND proname IN ('petstore_renew_version', 'petstore_require_open', 'petstore_renew_key_revision')
    LOOP
        EXECUTE function;
    END LOOP;
END
$$;

-- Fails outside of a transaction of petstore's writer, and if the lock of the row of `petstore_state` came late. petstore
-- then starts the transaction again, without additions whose callers are gone.
CREATE FUNCTION petstore_may_add() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF coalesce(current_setting('petstore.writer', true), '') <> 'on' THEN
        RAISE EXCEPTION USING ERRCODE = '25P01', MESSAGE = 'no transaction has begun';
    ELSIF coalesce(current_setting('petstore.locked', true), '') <> 'on'
        AND clock_timestamp() > transaction_timestamp() + interval '300 ms' THEN
        RAISE EXCEPTION USING ERRCODE = 'PSLAT', MESSAGE = 'the lock came late';
    END IF;
    RETURN true;
END
$$;

-- Adds each animal under its own savepoint with its idempotency record, unless its key has a record already. Returns its
-- place in the arrays, and its identifier or the server's refusal with its SQLSTATE. `is_own` is true if the statement
-- itself failed; an operator's trigger may raise any SQLSTATE. A store that is not open draws no identifiers.
CREATE FUNCTION petstore_add_each(
    state text, names text[], categories bigint[], statuses text[], keys bytea[], fingerprints bytea[], times bigint[]
) RETURNS TABLE (nth bigint, new_id bigint, refusal text, code text, is_own boolean) LANGUAGE plpgsql AS $$
DECLARE
    row record;
    rule text;
    context text;
BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;
    FOR row IN
        SELECT * FROM unnest(names, categories, statuses, keys, fingerprints, times) WITH ORDINALITY
            AS u (name, category_id, status, key, fingerprint, created_at, place)
        WHERE state = 'open'
    LOOP
        nth := row.place;
        refusal := NULL;
        BEGIN
            new_id := nextval('pet_id');
            IF row.key IS NOT NULL THEN
                INSERT INTO idempotency (id, fingerprint, pet_id, created_at)
                    VALUES (row.key, row.fingerprint, new_id, row.created_at) ON CONFLICT (id) DO NOTHING;
            END IF;
            IF row.key IS NULL OR FOUND THEN
                INSERT INTO pet (id, name, category_id, status)
                    VALUES (new_id, row.name, row.category_id, row.status);
                IF NOT FOUND THEN
                    RAISE EXCEPTION 'a trigger or a rule of the database kept the animal out of the table';
                END IF;
            ELSE
                new_id := NULL;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS rule = CONSTRAINT_NAME, context = PG_EXCEPTION_CONTEXT;
            IF rule = 'pet_pkey' THEN
                RAISE;
            END IF;
            new_id := NULL;
            refusal := SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')';
            code := SQLSTATE;
            -- Each running function of a trigger has a line above the line of the statement.
            is_own := position(E'\n' IN split_part(context, 'INSERT INTO pet (id', 1)) = 0;
        END;
        RETURN NEXT;
    END LOOP;
END
$$;

-- Snapshots read records in the order of their animals.
DROP INDEX idempotency_by_pet;

CREATE INDEX idempotency_by_pet ON idempotency (pet_id, id);

-- Releases that did not know the column left it empty. They locked a row of another table to change keys.
ALTER TABLE api_key DISABLE TRIGGER USER;

UPDATE api_key SET rights = CASE left(prefix, 4) WHEN 'pst_' THEN 'full' ELSE 'read-only' END
WHERE rights IS NULL;

ALTER TABLE api_key ENABLE TRIGGER USER, ALTER COLUMN rights SET NOT NULL;

DROP TABLE api_key_guard;
