-- Selects a text if an older release is moving the store, or has moved it.
SELECT 'a store that an older release is moving, or has moved (finish that with that release)'
FROM sqlite_schema
WHERE name = 'relocation'
