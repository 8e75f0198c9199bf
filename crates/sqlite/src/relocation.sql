-- What a store has while it is being moved, beside its schema.

CREATE TABLE relocation (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    role TEXT NOT NULL,
    revision INTEGER NOT NULL,
    peer TEXT NOT NULL,
    differences INTEGER NOT NULL,
    last_difference TEXT
) STRICT;

-- The follower finds the records of new animals by it.
CREATE INDEX idempotency_by_pet ON idempotency (pet_id);
