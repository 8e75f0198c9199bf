-- The revision of the API keys, 16 random bytes. The triggers renew it in the transaction that changes a
-- key, whoever does that; a use of a key is no change.
ALTER TABLE catalogue ADD COLUMN key_revision BLOB NOT NULL DEFAULT x'';

UPDATE catalogue SET key_revision = randomblob(16);

CREATE TRIGGER api_key_added AFTER INSERT ON api_key BEGIN
    UPDATE catalogue SET key_revision = randomblob(16);
END;

CREATE TRIGGER api_key_changed AFTER UPDATE OF
    id, name, digest, prefix, created_at, expires_at, revoked_at, rights
ON api_key BEGIN
    UPDATE catalogue SET key_revision = randomblob(16);
END;

CREATE TRIGGER api_key_removed AFTER DELETE ON api_key BEGIN
    UPDATE catalogue SET key_revision = randomblob(16);
END;
