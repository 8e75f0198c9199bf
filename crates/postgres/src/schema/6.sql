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
