-- Schema 4. Each status has an index of its own, ordered by the identifier alone. To find a place in it,
-- SQLite compares numbers; in one index of all statuses it compared the status's text first, at each step
-- of its search. An animal without a status is in none of them.

DROP INDEX pet_by_status;

CREATE INDEX pet_available ON pet (id, name, category_id) WHERE status = 'available';

CREATE INDEX pet_pending ON pet (id, name, category_id) WHERE status = 'pending';

CREATE INDEX pet_sold ON pet (id, name, category_id) WHERE status = 'sold';
