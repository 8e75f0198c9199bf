--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: petstore_guard(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.petstore_guard() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
DECLARE
    mover text := coalesce(current_setting('petstore.mover', true), '');
BEGIN
    IF mover = '' AND OLD.state <> 'open' THEN
        EXECUTE format('SELECT %I.petstore_sealed($1, $2)', TG_TABLE_SCHEMA) USING OLD.state, OLD.label;
    ELSIF mover <> '' AND (OLD.state <> 'filling' OR mover <> OLD.revision::text) THEN
        EXECUTE format('SELECT %I.petstore_sealed($1, $2)', TG_TABLE_SCHEMA) USING 'open', '';
    END IF;
    IF NEW.version <> OLD.version THEN
        NEW.rewrites := OLD.rewrites + 1;
    END IF;
    IF mover <> '' THEN
        NEW.version := OLD.version;
    END IF;
    RETURN NEW;
END
$_$;


--
-- Name: petstore_renew_key_revision(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.petstore_renew_key_revision() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    EXECUTE format(
        'UPDATE %1$I.catalogue SET key_revision = decode(md5($1), ''hex''), highest_key_id = '
        'greatest(highest_key_id, (SELECT max(id) FROM %1$I.api_key))',
        TG_TABLE_SCHEMA
    ) USING random()::text || clock_timestamp()::text || txid_current()::text;
    RETURN NULL;
END
$_$;


--
-- Name: petstore_renew_version(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.petstore_renew_version() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    EXECUTE format(
        'UPDATE %I.catalogue SET version = decode(md5($1), ''hex''), changes = changes + 1',
        TG_TABLE_SCHEMA
    ) USING random()::text || clock_timestamp()::text || txid_current()::text;
    RETURN NULL;
END
$_$;


--
-- Name: petstore_require_open(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.petstore_require_open() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    row record;
BEGIN
    EXECUTE format('SELECT state, label FROM %I.catalogue FOR SHARE', TG_TABLE_SCHEMA) INTO row;
    IF row.state <> 'open' THEN
        EXECUTE format('SELECT %I.petstore_sealed($1, $2)', TG_TABLE_SCHEMA) USING row.state, row.label;
    END IF;
    RETURN NULL;
END
$_$;


--
-- Name: petstore_sealed(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.petstore_sealed(state text, label text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PSMOV', MESSAGE = CASE state
        WHEN 'sealed' THEN 'was handed over to ' || label || '; use that one'
        WHEN 'filling' THEN
            'is being filled from another store, and ''petstore store move'' opens it when it holds everything'
        ELSE 'is not being filled by this mover any more' END;
END
$$;


--
-- Name: api_key_id; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.api_key_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: api_key; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_key (
    id bigint DEFAULT nextval('public.api_key_id'::regclass) NOT NULL,
    name text NOT NULL,
    digest bytea NOT NULL,
    prefix text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    rights text,
    CONSTRAINT api_key_rights CHECK ((rights = ANY (ARRAY['full'::text, 'read-only'::text])))
);


--
-- Name: api_key_guard; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_key_guard (
    only_row integer NOT NULL,
    CONSTRAINT api_key_guard_only_row_check CHECK ((only_row = 1))
);


--
-- Name: catalogue; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.catalogue (
    only_row integer NOT NULL,
    version bytea NOT NULL,
    changes bigint NOT NULL,
    identity bytea,
    revision bigint DEFAULT 0 NOT NULL,
    rewrites bigint DEFAULT 0 NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    other bytea,
    label text,
    key_revision bytea NOT NULL,
    highest_key_id bigint NOT NULL,
    CONSTRAINT catalogue_only_row_check CHECK ((only_row = 1)),
    CONSTRAINT catalogue_state_check CHECK ((state = ANY (ARRAY['open'::text, 'filling'::text, 'sealed'::text])))
);


--
-- Name: idempotency; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.idempotency (
    id bytea NOT NULL,
    fingerprint bytea NOT NULL,
    pet_id bigint NOT NULL,
    created_at bigint NOT NULL
);


--
-- Name: pet_id; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.pet_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: pet; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pet (
    id bigint DEFAULT nextval('public.pet_id'::regclass) NOT NULL,
    name text NOT NULL,
    category_id bigint NOT NULL,
    status text,
    CONSTRAINT pet_name CHECK (((char_length(name) <= 255) AND ((name COLLATE "C") !~ '[\u0001-\u001f\u007f-\u009f]'::text) AND ((name COLLATE "C") ~ '[^\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'::text))),
    CONSTRAINT pet_status_check CHECK ((status = ANY (ARRAY['available'::text, 'pending'::text, 'sold'::text])))
);


--
-- Name: petstore_schema; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.petstore_schema (
    version bigint NOT NULL,
    actual_version bigint,
    oldest_release text
);


--
-- Data for Name: api_key; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_key VALUES (2, 'reader', '\x4540a9a4bd232568fa5671b7a5cbc2dea9c78ff117c2619246e462da67a8abd1', 'psr_V0Fa', 1795623145254, NULL, NULL, NULL, 'read-only');
INSERT INTO public.api_key VALUES (3, 'expired', '\xe5d2dc544338b445caeea9b1d492152365c03248453ef522edfa110cea8796f1', 'pst_8iTl', 1795623145406, 1795623146406, NULL, NULL, 'full');
INSERT INTO public.api_key VALUES (4, 'revoked', '\xfa6426b26b016100ec5682dad7f65b87e64c621b6e3fb6df84bb27a0e4dc86b4', 'pst_e970', 1795623145574, NULL, 1795623146167, NULL, 'full');
INSERT INTO public.api_key VALUES (1, 'full', '\xa64a040be844a66a9f88c5d7a6abcefc4b04d9bc7dab0cac173f472ff199f459', 'pst_vQgS', 1795623145096, NULL, NULL, 1795623148412, 'full');
INSERT INTO public.api_key VALUES (5, 'later', '\x926760c034f6413b3f0d27c7d7d92fa69fb6b51e00826c4de00183f1406e4b2a', 'pst_6l1h', 1795623145784, 4949223145784, NULL, 1795623149138, 'full');
INSERT INTO public.api_key VALUES (6, 'rolled', '\xcd518545e900eecdaa14b9f80848ed5ff1e5da4a532603b38e84cc1845aed7ed', 'pst_mXe8', 1795623145975, 4949223146125, NULL, 1795623149023, 'full');
INSERT INTO public.api_key VALUES (7, 'rolled', '\xdd5c1bf69691e8bc0ba6537499e5899f2732c4cad96a3599081703ea19218e6e', 'pst_3TQV', 1795623146125, NULL, NULL, 1795623149085, 'full');


--
-- Data for Name: api_key_guard; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_key_guard VALUES (1);


--
-- Data for Name: catalogue; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.catalogue VALUES (1, '\x883373cd55ad9b3cb549a9a1ad197752', 12, '\xbdf897b66aab3edd234b1d50d37084c7', 0, 1, 'open', NULL, NULL, '\x6ace9a824b0f70e81b05a9f34b0948af', 7);


--
-- Data for Name: idempotency; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.idempotency VALUES ('\xa564ed4d836ff0903d880682ad6a76d2', '\xb11f74f8c7231bc1670c3aaf14b6ac8779ea92457cae7da679bd076eed584ad2', 1000008, 1795623148876);
INSERT INTO public.idempotency VALUES ('\x061d4f144fdbdd1761bcfeef90a6dc94', '\x927525780c7cac98a00503f9497ff4b421920c81ed654cafc687532af8202a78', 1000009, 1795623149025);
INSERT INTO public.idempotency VALUES ('\x8c6f9c0d58df193d9afbbed89d0ae1be', '\x8cb0ed03b610d907b580cdc29fdf2663a7750601b95066f00f3d6306fa9179cc', 1000010, 1795623149086);
INSERT INTO public.idempotency VALUES ('\x42894bcacb12ec902696d422b369e867', '\x883f46a4ba066eb6fde529f55510982cbcee2c2eb1132dd604365f3b35481132', 1000011, 1795623149139);


--
-- Data for Name: pet; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.pet VALUES (7, 'Under its own number', 7, 'pending');
INSERT INTO public.pet VALUES (1000000, 'Far above', 9223372036854775807, NULL);
INSERT INTO public.pet VALUES (1000001, 'Without a status', 1, NULL);
INSERT INTO public.pet VALUES (1000002, 'Available', 2, 'available');
INSERT INTO public.pet VALUES (1000003, 'Pending', 3, 'pending');
INSERT INTO public.pet VALUES (1000004, 'Sold', 4, 'sold');
INSERT INTO public.pet VALUES (1000005, 'Ærøskøbing 猫 🐈 "quoted" \ back', -9223372036854775808, NULL);
INSERT INTO public.pet VALUES (1000006, 'ßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßß', 0, 'available');
INSERT INTO public.pet VALUES (1000007, '  spaces kept  ', 5, NULL);
INSERT INTO public.pet VALUES (1000008, 'Once', 6, 'sold');
INSERT INTO public.pet VALUES (1000009, 'Once, by another key', 6, NULL);
INSERT INTO public.pet VALUES (1000010, 'Once, quoted', 6, NULL);
INSERT INTO public.pet VALUES (1000011, 'Once, with a long key', 6, NULL);


--
-- Data for Name: petstore_schema; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.petstore_schema VALUES (2, 6, '1.0.0');


--
-- Name: api_key_id; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.api_key_id', 1, false);


--
-- Name: pet_id; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.pet_id', 1000011, true);


--
-- Name: api_key api_key_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_digest_key UNIQUE (digest);


--
-- Name: api_key_guard api_key_guard_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_key_guard
    ADD CONSTRAINT api_key_guard_pkey PRIMARY KEY (only_row);


--
-- Name: api_key api_key_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);


--
-- Name: catalogue catalogue_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalogue
    ADD CONSTRAINT catalogue_pkey PRIMARY KEY (only_row);


--
-- Name: idempotency idempotency_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (id);


--
-- Name: pet pet_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pet
    ADD CONSTRAINT pet_pkey PRIMARY KEY (id);


--
-- Name: petstore_schema petstore_schema_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.petstore_schema
    ADD CONSTRAINT petstore_schema_pkey PRIMARY KEY (version);


--
-- Name: api_key_by_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX api_key_by_name ON public.api_key USING btree (name);


--
-- Name: idempotency_by_age; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idempotency_by_age ON public.idempotency USING btree (created_at);


--
-- Name: idempotency_by_pet; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idempotency_by_pet ON public.idempotency USING btree (pet_id);


--
-- Name: pet_available; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pet_available ON public.pet USING btree (id) WHERE (status = 'available'::text);


--
-- Name: pet_pending; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pet_pending ON public.pet USING btree (id) WHERE (status = 'pending'::text);


--
-- Name: pet_sold; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pet_sold ON public.pet USING btree (id) WHERE (status = 'sold'::text);


--
-- Name: api_key petstore_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER petstore_changed AFTER INSERT OR DELETE OR UPDATE OF id, name, digest, prefix, created_at, expires_at, revoked_at, rights OR TRUNCATE ON public.api_key FOR EACH STATEMENT EXECUTE FUNCTION public.petstore_renew_key_revision();


--
-- Name: pet petstore_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER petstore_changed AFTER INSERT OR DELETE OR UPDATE OR TRUNCATE ON public.pet FOR EACH STATEMENT WHEN ((COALESCE(current_setting('petstore.writer'::text, true), ''::text) <> 'on'::text)) EXECUTE FUNCTION public.petstore_renew_version();


--
-- Name: catalogue petstore_guard; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER petstore_guard BEFORE UPDATE ON public.catalogue FOR EACH ROW WHEN (((new.revision = old.revision) AND (NOT ((old.state = 'open'::text) AND (COALESCE(current_setting('petstore.append'::text, true), ''::text) = 'on'::text))))) EXECUTE FUNCTION public.petstore_guard();


--
-- Name: api_key petstore_require_open; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER petstore_require_open AFTER INSERT OR DELETE OR UPDATE ON public.api_key FOR EACH STATEMENT WHEN ((COALESCE(current_setting('petstore.mover'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION public.petstore_require_open();


--
-- Name: idempotency petstore_require_open; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER petstore_require_open AFTER DELETE ON public.idempotency FOR EACH STATEMENT WHEN ((COALESCE(current_setting('petstore.writer'::text, true), ''::text) <> 'on'::text)) EXECUTE FUNCTION public.petstore_require_open();


--
-- PostgreSQL database dump complete
--


