-- What a store has while it is being moved, beside its schema.

CREATE TABLE petstore_relocation (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    role text NOT NULL,
    revision bigint NOT NULL,
    peer text NOT NULL,
    differences bigint NOT NULL,
    last_difference text
);

-- The follower finds the records of new animals by it.
CREATE INDEX idempotency_by_pet ON idempotency (pet_id);

-- The fence. A change of the role locks the tables, so it waits for whoever has passed here already.
-- A follower says of each of its transactions that it is one.
CREATE FUNCTION petstore_fence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    stored text := (SELECT role FROM petstore_relocation);
    follower boolean := coalesce(current_setting('petstore.follower', true), '') = 'on';
BEGIN
    IF stored = (CASE WHEN follower THEN 'standby' ELSE 'deciding' END) THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'PSMOV', MESSAGE = stored;
END
$$;

CREATE TRIGGER petstore_fence BEFORE INSERT OR UPDATE OR DELETE ON pet
    FOR EACH STATEMENT EXECUTE FUNCTION petstore_fence();
CREATE TRIGGER petstore_fence BEFORE INSERT OR UPDATE OR DELETE ON idempotency
    FOR EACH STATEMENT EXECUTE FUNCTION petstore_fence();
CREATE TRIGGER petstore_fence BEFORE INSERT OR UPDATE OR DELETE ON api_key
    FOR EACH STATEMENT EXECUTE FUNCTION petstore_fence();
