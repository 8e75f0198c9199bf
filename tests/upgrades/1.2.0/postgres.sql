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
            'is being filled from another one, and ''petstore store move'' opens it when it holds everything'
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

INSERT INTO public.api_key VALUES (2, 'reader', '\x7084542839819970faefb96679cb8c0a9e027dfe2c849cc169d1be8666b70491', 'psr_eaKw', 1795622570217, NULL, NULL, NULL, 'read-only');
INSERT INTO public.api_key VALUES (3, 'expired', '\x8d90ce5055d3d5e7278b2a9e8f97c91c050be0b745d591c85e0952301933dfa3', 'pst_KuLq', 1795622570253, 1795622571253, NULL, NULL, 'full');
INSERT INTO public.api_key VALUES (4, 'revoked', '\x82f6c98dfaf355e931c56c00b8c2c8f77094d9b70185d654faceb81c225a8bfa', 'pst_TJWH', 1795622570287, NULL, 1795622570439, NULL, 'full');
INSERT INTO public.api_key VALUES (1, 'full', '\xd0a8cb25ea4befcd31078b33d8b2bd1fc2cd19614a63d585ee20bd44c3c88f5f', 'pst_INYf', 1795622570177, NULL, NULL, 1795622572618, 'full');
INSERT INTO public.api_key VALUES (5, 'later', '\x0e29f69c0744fdf6bff93519c549831f9469ccc7c896dec15c8ce5cb26217b89', 'pst_LyRv', 1795622570323, 4949222570323, NULL, 1795622572767, 'full');
INSERT INTO public.api_key VALUES (6, 'rolled', '\x0d07287fb0430ca61b1894f6480ce7cc0224a323e098ef8dc7f58faf2ea14c37', 'pst_JTax', 1795622570371, 4949222570404, NULL, 1795622572711, 'full');
INSERT INTO public.api_key VALUES (7, 'rolled', '\x1892b55805ccf64f6994394d953dbe381b0511fa0145df9416397407dbf43471', 'pst_Z3Ju', 1795622570404, NULL, NULL, 1795622572737, 'full');


--
-- Data for Name: api_key_guard; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_key_guard VALUES (1);


--
-- Data for Name: catalogue; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.catalogue VALUES (1, '\x090b1b309c9c18d0da0677c1104bb901', 12, '\x76b65f57bd73c576f3c5cc62173a6eef', 0, 1, 'open', NULL, NULL);


--
-- Data for Name: idempotency; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.idempotency VALUES ('\x0556f0db66d14bf6ded25acadc476a61', '\xb11f74f8c7231bc1670c3aaf14b6ac8779ea92457cae7da679bd076eed584ad2', 1000008, 1795622572681);
INSERT INTO public.idempotency VALUES ('\xe64184b8e17f42b30b6b40157d697449', '\x927525780c7cac98a00503f9497ff4b421920c81ed654cafc687532af8202a78', 1000009, 1795622572711);
INSERT INTO public.idempotency VALUES ('\xc5a493018076b7007c318a1ab7d5782b', '\x8cb0ed03b610d907b580cdc29fdf2663a7750601b95066f00f3d6306fa9179cc', 1000010, 1795622572737);
INSERT INTO public.idempotency VALUES ('\x0802d80feacd658096c61f542f80410b', '\x883f46a4ba066eb6fde529f55510982cbcee2c2eb1132dd604365f3b35481132', 1000011, 1795622572767);


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

SELECT pg_catalog.setval('public.api_key_id', 7, true);


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


