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

INSERT INTO public.api_key VALUES (2, 'reader', '\x9a9c45a5ed6c27058b128fc27800a5a78433689ce98a7602fed794697f87475b', 'psr_bZ0t', 1795599435760, NULL, NULL, NULL, 'read-only');
INSERT INTO public.api_key VALUES (3, 'expired', '\x19a909a92a788c3c69f04ad43e92777eca8fcd4cf89da939fa56b8dff0a8a235', 'pst_3kfF', 1795599435818, 1795599436818, NULL, NULL, 'full');
INSERT INTO public.api_key VALUES (4, 'revoked', '\xf681caccd338aee2ac31c0015ea1bc43a2dd31db116077e24d40c606684437d8', 'pst_WtlM', 1795599435885, NULL, 1795599436241, NULL, 'full');
INSERT INTO public.api_key VALUES (1, 'full', '\x298644e64d9f2d9ebb60654d1b4253b9ac294e7e33529db6a99e098017ca2e2a', 'pst_8tOQ', 1795599435641, NULL, NULL, 1795599439407, 'full');
INSERT INTO public.api_key VALUES (5, 'later', '\x9dc61dc40096b9c54885726065445d40cf58e4c7d3e868e79741e670f85984d8', 'pst_yA3T', 1795599435971, 4949199435971, NULL, 1795599439757, 'full');
INSERT INTO public.api_key VALUES (6, 'rolled', '\x3bd38399cb67bae6e0409c91491a9c26d71539b332bc14ecd11030e223f756d4', 'pst_wqNh', 1795599436084, 4949199436170, NULL, 1795599439604, 'full');
INSERT INTO public.api_key VALUES (7, 'rolled', '\x7304d849060977e3b6b3e0b17e03320c3d4dae1ac95a3605fd120bfe3d7d1651', 'pst_MBy4', 1795599436170, NULL, NULL, 1795599439658, 'full');


--
-- Data for Name: api_key_guard; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_key_guard VALUES (1);


--
-- Data for Name: catalogue; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.catalogue VALUES (1, '\xf5c32c3639c6e58aade6942627cb2113', 24);


--
-- Data for Name: idempotency; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.idempotency VALUES ('\xc2b68e95a359c63a788f13f9fb0f2016', '\xb11f74f8c7231bc1670c3aaf14b6ac8779ea92457cae7da679bd076eed584ad2', 1000008, 1795599439551);
INSERT INTO public.idempotency VALUES ('\x3532d20fe1183f300c884c5bdeaeea6f', '\x927525780c7cac98a00503f9497ff4b421920c81ed654cafc687532af8202a78', 1000009, 1795599439604);
INSERT INTO public.idempotency VALUES ('\x3e1b23b2820db4255e72c1deb5765aa3', '\x8cb0ed03b610d907b580cdc29fdf2663a7750601b95066f00f3d6306fa9179cc', 1000010, 1795599439658);
INSERT INTO public.idempotency VALUES ('\x1fddba3b58366d874b9223e156c5bba4', '\x883f46a4ba066eb6fde529f55510982cbcee2c2eb1132dd604365f3b35481132', 1000011, 1795599439757);


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

INSERT INTO public.petstore_schema VALUES (2, 5, '1.0.0');


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
-- PostgreSQL database dump complete
--


