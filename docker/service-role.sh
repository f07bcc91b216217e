#!/bin/sh
# Whom the service connects as: not a superuser; it owns the schemas that it makes in its database. The superuser has no
# password then, so nobody gets in as one over the network.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" --username postgres --dbname postgres <<'SQL'
create role threats login password :'password';
create database threats;
grant create on database threats to threats;
alter role postgres password null;
SQL
