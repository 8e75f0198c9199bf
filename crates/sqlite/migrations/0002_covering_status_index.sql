-- Schema 2. A page of one status is read from the index alone: it holds all that such a page shows.
-- Before, each animal had to be looked up in the table, the deeper the more animals there are.

DROP INDEX pet_by_status;

CREATE INDEX pet_by_status ON pet (status, id, name, category_id);
