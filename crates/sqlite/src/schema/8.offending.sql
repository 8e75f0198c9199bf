-- A text for each row that is in the way of 8.sql.
SELECT 'animal ' || id || ' (its name is empty, too long, white space, or has control characters)'
FROM pet
WHERE NOT (
    instr(name, char(0)) = 0
    AND length(name) BETWEEN 1 AND 255
    AND name NOT GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*'
    AND trim(name, char(32, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201,
        8202, 8232, 8233, 8239, 8287, 12288)) <> ''
)
LIMIT 10
