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

-- Adds animals with their idempotency records, except those whose keys have records already. All animals share one
-- savepoint; if the server refuses one of them, the function tries sixteen at a time, then four, and then each alone.
-- Returns the place of each animal in the arrays, and one of these: its identifier, the server's refusal with its SQLSTATE,
-- or the record of its key. `is_own` is true if the statement itself failed; an operator's trigger may raise any SQLSTATE.
-- A store that is not open draws no identifiers, because a rollback would not return them. The function fails outside of a
-- transaction of petstore's writer, and if the lock of the row of `petstore_state` came late. petstore then starts the
-- transaction again, without additions whose callers are gone.
CREATE FUNCTION petstore_add(
    state text, names text[], categories bigint[], statuses text[],
    keys bytea[], fingerprints bytea[], times bigint[], cutoffs bigint[]
) RETURNS TABLE (nth bigint, new_id bigint, refusal text, code text, is_own boolean, known idempotency)
LANGUAGE plpgsql AS $$
DECLARE
    first_place integer := 1;
    last_place integer;
    shared integer := cardinality(names);
    new_ids bigint[];
    rule text;
    context text;
BEGIN
    IF coalesce(current_setting('petstore.writer', true), '') <> 'on' THEN
        RAISE EXCEPTION USING ERRCODE = '25P01', MESSAGE = 'no transaction has begun';
    ELSIF coalesce(current_setting('petstore.locked', true), '') <> 'on'
        AND clock_timestamp() > transaction_timestamp() + interval '300 ms' THEN
        RAISE EXCEPTION USING ERRCODE = 'PSLAT', MESSAGE = 'the lock came late';
    END IF;
    SET CONSTRAINTS ALL IMMEDIATE;
    IF array_remove(keys, NULL) <> '{}' THEN
        -- Deletes the expired records of these keys. The plan of a join could read the whole table.
        DELETE FROM idempotency i WHERE i.id = ANY (keys)
            AND i.created_at <= (SELECT max(u.cutoff) FROM unnest(keys, cutoffs) AS u (id, cutoff) WHERE u.id = i.id);
    END IF;
    WHILE state = 'open' AND first_place <= cardinality(names) LOOP
        last_place := least(first_place + shared - 1, cardinality(names));
        refusal := NULL;
        BEGIN
            WITH wanted AS MATERIALIZED (
                SELECT nextval('pet_id') AS id, u.*
                FROM unnest(names[first_place:last_place], categories[first_place:last_place],
                    statuses[first_place:last_place], keys[first_place:last_place],
                    fingerprints[first_place:last_place], times[first_place:last_place]) WITH ORDINALITY
                    AS u (name, category_id, status, key, fingerprint, created_at, place)
            ), reserved AS (
                INSERT INTO idempotency (id, fingerprint, pet_id, created_at)
                SELECT w.key, w.fingerprint, w.id, w.created_at FROM wanted w WHERE w.key IS NOT NULL
                ON CONFLICT (id) DO NOTHING RETURNING pet_id
            ), found AS MATERIALIZED (
                SELECT w.*, w.key IS NULL OR w.id IN (SELECT r.pet_id FROM reserved r) AS is_new FROM wanted w
            ), inserted AS (
                INSERT INTO pet (id, name, category_id, status)
                SELECT f.id, f.name, f.category_id, f.status FROM found f WHERE f.is_new RETURNING id
            )
            SELECT array_agg(CASE WHEN f.is_new THEN f.id END ORDER BY f.place) INTO new_ids FROM found f
            HAVING (SELECT count(*) FROM inserted) = count(*) FILTER (WHERE f.is_new);
            IF new_ids IS NULL THEN
                RAISE EXCEPTION 'a trigger or a rule of the database kept the animal out of the table';
            END IF;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS rule = CONSTRAINT_NAME, context = PG_EXCEPTION_CONTEXT;
            IF rule = 'pet_pkey' THEN
                RAISE;
            END IF;
            new_ids := NULL;
            refusal := SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')';
            code := SQLSTATE;
            -- Each running function of a trigger has a line above the line of the statement.
            is_own := position(E'\n' IN split_part(context, 'WITH wanted AS', 1)) = 0;
        END;
        IF refusal IS NOT NULL AND shared > 1 THEN
            shared := CASE WHEN shared > 16 THEN 16 WHEN shared > 4 THEN 4 ELSE 1 END;
            CONTINUE;
        END IF;
        FOR place IN first_place..last_place LOOP
            nth := place;
            new_id := new_ids[place - first_place + 1];
            IF new_id IS NULL AND refusal IS NULL THEN
                SELECT * INTO known FROM idempotency i WHERE i.id = keys[place];
            END IF;
            RETURN NEXT;
        END LOOP;
        first_place := last_place + 1;
        shared := CASE WHEN first_place % 16 = 1 THEN 16 WHEN first_place % 4 = 1 THEN 4 ELSE 1 END;
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

-- The stamp of a key: another one after each change, and in general the highest of all. It is a time in microseconds, so
-- that the sum of the stamps also differs between two histories of the store.
ALTER TABLE api_key ENABLE TRIGGER USER, ALTER COLUMN rights SET NOT NULL,
    ADD COLUMN stamp bigint NOT NULL DEFAULT extract(epoch FROM clock_timestamp()) * 1000000;

CREATE FUNCTION petstore_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.stamp := extract(epoch FROM clock_timestamp()) * 1000000;
    RETURN NEW;
END
$$;

CREATE TRIGGER petstore_stamp BEFORE UPDATE OF
    id, name, digest, prefix, created_at, expires_at, revoked_at, rights ON api_key
    FOR EACH ROW EXECUTE FUNCTION petstore_stamp();

DROP TABLE api_key_guard;
