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
    last_used_at bigint
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
    CONSTRAINT pet_status_check CHECK ((status = ANY (ARRAY['available'::text, 'pending'::text, 'sold'::text])))
);


--
-- Name: petstore_schema; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.petstore_schema (
    version bigint NOT NULL
);


--
-- Data for Name: api_key; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_key VALUES (2, 'reader', '\x465f0fc2465e16623abed7b9154ff3179b62033692e1abdfcab2f00aaaec7926', 'psr_zzMw', 1795599032870, NULL, NULL, NULL);
INSERT INTO public.api_key VALUES (3, 'expired', '\xc4bdc75569b8f24af12c361622102dd7189a4a0d3bd92ec01da1e3b1dcfb0d5b', 'pst_yNdg', 1795599032925, 1795599033925, NULL, NULL);
INSERT INTO public.api_key VALUES (4, 'revoked', '\x7715cd97cdad01ccc5f4ad32c2136136bffa1022fb0f69c59049aa534bc20103', 'pst_BBd1', 1795599032963, NULL, 1795599033093, NULL);
INSERT INTO public.api_key VALUES (1, 'full', '\x81763c82030f2b344c9d4cdec4abd41bf45988a93c37a67dcc3a4d553a6362e5', 'pst_QFnq', 1795599032800, NULL, NULL, 1795599036225);
INSERT INTO public.api_key VALUES (5, 'later', '\x002b51af13620627e177bf6d163a9691e3dc9d0fc88643b77885950e06bf83fc', 'pst_Qrsr', 1795599032996, 4949199032996, NULL, 1795599036610);
INSERT INTO public.api_key VALUES (6, 'rolled', '\x08ceda3bc65beb6fdf9af5df158934fda5f0cb31c1df4e57bd054330393266ac', 'pst_PS2M', 1795599033030, 4949199033063, NULL, 1795599036447);
INSERT INTO public.api_key VALUES (7, 'rolled', '\x1de36d1672dac40548f9e9883dd673099f337a7405aaa274319c082894bedb08', 'pst_uAjf', 1795599033063, NULL, NULL, 1795599036570);


--
-- Data for Name: api_key_guard; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_key_guard VALUES (1);


--
-- Data for Name: catalogue; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.catalogue VALUES (1, '\xf1bb29766285c6cc82bb25c5326e0011', 12);


--
-- Data for Name: idempotency; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.idempotency VALUES ('\xf70f41835558c2aa0e4660c277701a55', '\xb11f74f8c7231bc1670c3aaf14b6ac8779ea92457cae7da679bd076eed584ad2', 1000008, 1795599036383);
INSERT INTO public.idempotency VALUES ('\xd46158d584437fffd445af4d49c79442', '\x927525780c7cac98a00503f9497ff4b421920c81ed654cafc687532af8202a78', 1000009, 1795599036447);
INSERT INTO public.idempotency VALUES ('\x05361faa8acfa3fe90610952a5216d9c', '\x8cb0ed03b610d907b580cdc29fdf2663a7750601b95066f00f3d6306fa9179cc', 1000010, 1795599036570);
INSERT INTO public.idempotency VALUES ('\x53c0f1c7c314da744d6fdd305f3a2334', '\x883f46a4ba066eb6fde529f55510982cbcee2c2eb1132dd604365f3b35481132', 1000011, 1795599036610);


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

INSERT INTO public.petstore_schema VALUES (2);


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
-- PostgreSQL database dump complete
--


