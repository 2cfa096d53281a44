\echo Use "CREATE EXTENSION pgq_ext" to load this file. \quit

SET LOCAL search_path TO pg_catalog, pg_temp;
