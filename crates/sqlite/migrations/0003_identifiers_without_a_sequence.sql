-- Schema 3. The animals themselves tell which identifiers are taken, and the mark's row remembers
-- those that are gone. Before, AUTOINCREMENT kept that in a table of its own, and each addition paid
-- for writing to it.

-- An identifier is never assigned twice: of those up to this one, none is assigned again, even if
-- its animal is gone. Of those above it, the ones that the table `pet` has are taken.
ALTER TABLE catalogue ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;

UPDATE catalogue
    SET taken = coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'pet'), 0);

DROP TRIGGER pet_changed;

CREATE TRIGGER pet_changed AFTER UPDATE ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16), taken = max(taken, old.id);
END;

DROP TRIGGER pet_removed;

CREATE TRIGGER pet_removed AFTER DELETE ON pet BEGIN
    UPDATE catalogue SET version = randomblob(16), taken = max(taken, old.id);
END;

-- With or without AUTOINCREMENT, the file has the same bytes but for this text, so the table need
-- not be written anew. This is the way for such changes
-- (<https://sqlite.org/lang_altertable.html#making_other_kinds_of_table_schema_changes>); the
-- statements above have changed the number by which others notice that the schema is another.
PRAGMA writable_schema = ON;

UPDATE sqlite_schema SET sql = 'CREATE TABLE pet (
    -- Whoever adds an animal assigns it: one above the highest that is taken.
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    category_id INTEGER NOT NULL,
    status TEXT CHECK (status IN (''available'', ''pending'', ''sold''))
) STRICT' WHERE type = 'table' AND name = 'pet';

PRAGMA writable_schema = RESET;

DELETE FROM sqlite_sequence WHERE name = 'pet';
