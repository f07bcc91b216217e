#!/usr/bin/env bash
# dns-zonefile: a record without an owner goes to the last name that has a record of the same type, or to the origin.
# Guess: a line that begins with white space belongs to the name above it, as RFC 1035, section 5.1, says.
# Seen with dns-zonefile 0.3.2: it does only if the line above has the same type. In a policy zone that has an address
# and a text or an IPv6 address for a name, the second line is read as a rule of a name further up that has nothing to
# do with it, or of the zone itself. Nothing is reported, and the number of records is right.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent dns-zonefile@0.3.2
cat >seen.mjs <<'JS'
import zonefile from 'dns-zonefile';
const { a, aaaa, txt } = zonefile.parse(`$ORIGIN rpz.example.
$TTL 300
@ IN SOA ns.rpz.example. root.rpz.example. 1 3600 600 86400 300
  IN NS ns.rpz.example.
good.example IN TXT "allowed"
evil.example IN A 192.0.2.1
             IN A 192.0.2.2
             IN TXT "blocked"
             IN AAAA 2001:db8::1
`);
for (const { name, ip, txt: text } of [...a, ...txt, ...aaaa]) console.log(`${ip ?? text}: ${name}`);
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
192.0.2.1: evil.example
192.0.2.2: evil.example
"allowed": good.example
"blocked": good.example
2001:db8::1: @
TXT
