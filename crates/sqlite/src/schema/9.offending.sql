-- A text if a move of an older release is on, or has ended here.
SELECT 'a store that an older release is moving, or has moved (finish that with that release)'
FROM sqlite_schema
WHERE name = 'relocation'
