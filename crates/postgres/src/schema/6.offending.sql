-- A text if a move of an older release is on, or has ended here.
SELECT 'a store that an older release is moving, or has moved (finish that with that release)'
WHERE to_regclass('petstore_relocation') IS NOT NULL
