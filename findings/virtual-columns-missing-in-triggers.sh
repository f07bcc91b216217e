#!/usr/bin/env bash
# PostgreSQL 18: a virtual generated column is null in the function of a trigger, and in its transition tables.
# Guess: NEW and a transition table have the value that a SELECT of the row has, at least in an AFTER trigger.
# Seen with PGlite 0.5.17 (PostgreSQL 18.7): the condition WHEN sees the value, the function gets null, and so does a
# SELECT from the transition table. No error is raised. With 18 a generated column is virtual unless it says STORED, so
# that an audit trigger or an outbox that copies to_jsonb(NEW) writes null for it.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @electric-sql/pglite@0.5.17
cat >seen.mjs <<'JS'
import { PGlite } from '@electric-sql/pglite';
const db = new PGlite();
await db.exec(`
  create table threat (url text, host text generated always as (split_part(url, '/', 3)),
    kept text generated always as (split_part(url, '/', 3)) stored);
  create table audit (seen text, host text, kept text);
  create function of_row() returns trigger language plpgsql as
    $$ begin insert into audit values ('NEW, after WHEN saw it', new.host, new.kept); return null; end $$;
  create function of_statement() returns trigger language plpgsql as
    $$ begin insert into audit select 'transition table', host, kept from added; return null; end $$;
  create trigger of_row after insert on threat for each row when (new.host = 'evil.example') execute function of_row();
  create trigger of_statement after insert on threat referencing new table as added execute function of_statement();
  insert into threat values ('https://evil.example/a')`);
const { rows } = await db.query(`select * from audit union all select 'SELECT', host, kept from threat order by 1`);
for (const { seen, host, kept } of rows) console.log(`${seen}: virtual ${host}, stored ${kept}`);
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
NEW, after WHEN saw it: virtual null, stored evil.example
SELECT: virtual evil.example, stored evil.example
transition table: virtual null, stored evil.example
TXT
