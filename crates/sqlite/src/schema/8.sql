-- What the domain refuses as a name, the schema refuses too: one such row would turn every page that
-- holds it into an error. White space is Unicode's (White_Space); control characters are U+0000 to
-- U+001F and U+007F to U+009F. A text counts up to its first U+0000, so that is looked for apart.
ALTER TABLE pet ADD CONSTRAINT pet_name CHECK (
    instr(name, char(0)) = 0
    AND length(name) BETWEEN 1 AND 255
    AND name NOT GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*'
    AND trim(name, char(32, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201,
        8202, 8232, 8233, 8239, 8287, 12288)) <> ''
);

-- What a key may do. A release that does not know the column leaves it empty; then the prefix says it.
ALTER TABLE api_key ADD COLUMN rights TEXT CHECK (rights IN ('full', 'read-only'));

UPDATE api_key SET rights = CASE substr(prefix, 1, 4) WHEN 'pst_' THEN 'full' ELSE 'read-only' END;

-- The version of this schema, and the oldest release that can use the store. `PRAGMA user_version` is
-- the oldest version of the schema that such a release knows: it opens a file by that number.
CREATE TABLE petstore_schema (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    version INTEGER NOT NULL,
    oldest_release TEXT NOT NULL
) STRICT;
