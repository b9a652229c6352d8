#!/bin/sh
# The roles of the database: an owner for migrations, a writer for work, a reader for reports. The
# image runs this script when it creates the volume. For an older volume, or to change passwords, run:
#   docker compose exec postgres sh /docker-entrypoint-initdb.d/postgres-roles.sh
set -eu
psql --quiet --no-psqlrc --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" -v ON_ERROR_STOP=1 <<'END'
\set owner `cat /run/secrets/postgres-owner-password`
\set writer `cat /run/secrets/postgres-writer-password`
\set reader `cat /run/secrets/postgres-reader-password`
select format('create role %I', name)
    from unnest(array['starcast_owner', 'starcast_writer', 'starcast_reader']) as name
    where not exists (select from pg_roles where rolname = name) \gexec
alter role starcast_owner login password :'owner';
alter role starcast_writer login password :'writer';
alter role starcast_reader login password :'reader';
select format('alter database %I owner to starcast_owner', current_database()) \gexec
-- The tables are in the owner's current schema.
set role starcast_owner;
select current_schema() as schema \gset
reset role;
select format('alter table %s owner to starcast_owner', oid::regclass) from pg_class
    where relnamespace = to_regnamespace(quote_ident(:'schema')) and relkind in ('r', 'v') \gexec
END
