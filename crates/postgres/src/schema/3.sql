-- What a key may do. A release that does not know the column leaves it empty; then the prefix says it.
ALTER TABLE api_key ADD COLUMN rights text;

ALTER TABLE api_key ADD CONSTRAINT api_key_rights CHECK (rights IN ('full', 'read-only')) NOT VALID;

-- The version of this schema, and the oldest release that can use the store. The column `version` is
-- the oldest version of the schema that such a release knows: it opens a store by that number.
ALTER TABLE petstore_schema ADD COLUMN actual_version bigint, ADD COLUMN oldest_release text;
