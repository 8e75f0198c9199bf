UPDATE api_key SET rights = CASE left(prefix, 4) WHEN 'pst_' THEN 'full' ELSE 'read-only' END
WHERE rights IS NULL;

-- What the domain refuses as a name, the schema refuses too: one such row would turn every page that
-- holds it into an error. White space is Unicode's (White_Space); control characters are U+0000 to
-- U+001F and U+007F to U+009F. Rows that are there are looked at in the next step, without a lock that
-- stops the service.
ALTER TABLE pet ADD CONSTRAINT pet_name CHECK (
    char_length(name) <= 255
    AND name COLLATE "C" !~ '[\u0001-\u001f\u007f-\u009f]'
    AND name COLLATE "C" ~ '[^\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
) NOT VALID;

-- Whoever changes animals past petstore, an operator at the `psql` prompt for example, renews the
-- catalogue's version in the same transaction. petstore says of its own transactions that it renews
-- the version itself. The function runs with the rights of the owner: whoever may change an animal
-- need not be allowed to write to `catalogue`.
CREATE FUNCTION petstore_renew_version() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format(
        'UPDATE %I.catalogue SET version = decode(md5($1), ''hex''), changes = changes + 1',
        TG_TABLE_SCHEMA
    ) USING random()::text || clock_timestamp()::text || txid_current()::text;
    RETURN NULL;
END
$$;

CREATE TRIGGER petstore_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON pet
    FOR EACH STATEMENT WHEN (coalesce(current_setting('petstore.writer', true), '') <> 'on')
    EXECUTE FUNCTION petstore_renew_version();
