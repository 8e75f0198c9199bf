-- A text for each row that is in the way of 5.sql.
SELECT 'animal ' || id || ' (its name is empty, too long, white space, or has control characters)'
FROM pet
WHERE NOT (
    char_length(name) <= 255
    AND name COLLATE "C" !~ '[\u0001-\u001f\u007f-\u009f]'
    AND name COLLATE "C" ~ '[^\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
)
LIMIT 10
