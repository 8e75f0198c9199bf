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
    key_revision bytea NOT NULL,
    highest_key_id bigint NOT NULL,
    CONSTRAINT catalogue_only_row_check CHECK ((only_row = 1))
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

INSERT INTO public.api_key VALUES (2, 'reader', '\x049eac51a9e400f429fdabb3976653693d0b4c321e618fa89bb41df988673081', 'psr_7ZmU', 1795621863180, NULL, NULL, NULL, 'read-only');
INSERT INTO public.api_key VALUES (3, 'expired', '\x8b60b217cf7fb18a630b68164bb88bed513e1e6a71cec5448c2f16c421e38998', 'pst_nLhc', 1795621863233, 1795621864233, NULL, NULL, 'full');
INSERT INTO public.api_key VALUES (4, 'revoked', '\x38c1c076eab30086cd4e7e66c111b08973af29c0282f98a0908a302afc096031', 'pst_rH1H', 1795621863297, NULL, 1795621863504, NULL, 'full');
INSERT INTO public.api_key VALUES (1, 'full', '\xe0e54fa729db0d8cd0760af1420f82a5e2b320100796b9c00261f9f596cc6907', 'pst_l9it', 1795621863125, NULL, NULL, 1795621869022, 'full');
INSERT INTO public.api_key VALUES (5, 'later', '\x7ff11317b4dd43344e395383e71df320d3d0fe43498052b701c4afafc1d2ff36', 'pst_pYA9', 1795621863348, 4949221863348, NULL, 1795621869881, 'full');
INSERT INTO public.api_key VALUES (6, 'rolled', '\x0cd77c306d5f519400022a97ae54f3075ce8790aed0cc5dc5dd1bab88d80d7fd', 'pst_cbxx', 1795621863395, 4949221863453, NULL, 1795621869630, 'full');
INSERT INTO public.api_key VALUES (7, 'rolled', '\xcb07c0a8205098b5f441a7ec973408f49889ab74a85354ccaeb86b255ca823b9', 'pst_9SWE', 1795621863453, NULL, NULL, 1795621869740, 'full');


--
-- Data for Name: api_key_guard; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_key_guard VALUES (1);


--
-- Data for Name: catalogue; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.catalogue VALUES (1, '\x854d0a5b27129705c5c482668193f78e', 12, '\x0059201391ec21d3ca0b730bba95c09b', 7);


--
-- Data for Name: idempotency; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.idempotency VALUES ('\xac5240e00ee05203e92af617367c46ad', '\xb11f74f8c7231bc1670c3aaf14b6ac8779ea92457cae7da679bd076eed584ad2', 1000008, 1795621869289);
INSERT INTO public.idempotency VALUES ('\x1f1c80162e7a840a061c3fa31c86705e', '\x927525780c7cac98a00503f9497ff4b421920c81ed654cafc687532af8202a78', 1000009, 1795621869631);
INSERT INTO public.idempotency VALUES ('\x671775891d817be7a8628535dbc9c2ab', '\x8cb0ed03b610d907b580cdc29fdf2663a7750601b95066f00f3d6306fa9179cc', 1000010, 1795621869740);
INSERT INTO public.idempotency VALUES ('\x0b67074a0297dfde390224b87e85f425', '\x883f46a4ba066eb6fde529f55510982cbcee2c2eb1132dd604365f3b35481132', 1000011, 1795621869885);


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
-- PostgreSQL database dump complete
--


