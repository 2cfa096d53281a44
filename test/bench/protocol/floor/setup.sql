-- The extension's own tables and indexes, without the extension.
CREATE SCHEMA floor;
\set tables `sed s/@extschema@/floor/g sql/schema/30_job.sql`
:tables
