#!/usr/bin/env bash
# @ghostery/adblocker: the option `to=` of a rule selects the site that sends a request, not the host that receives it.
# Guess: `*$script,to=cdn.example` blocks scripts from cdn.example on every site, as uBlock Origin documents `to=`, or the
# engine refuses an option that it does not know.
# Seen with @ghostery/adblocker 2.18.2: the rule is counted as loaded, lets these scripts pass, and blocks all scripts of
# the pages on cdn.example instead, exactly as `from=cdn.example` does. A host rule that repeats its host in `to=` blocks
# nothing any more. `to=~HOST` exempts requests to the host, so the two halves of one option look at different sides.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @ghostery/adblocker@2.18.2
cat >seen.mjs <<'JS'
import { FiltersEngine, Request } from '@ghostery/adblocker';
const blocks = (rule, host, site) =>
  FiltersEngine.parse(rule).match(
    Request.fromRawDetails({ type: 'script', url: `https://${host}/a.js`, sourceUrl: `https://${site}/` }),
  ).match;
for (const rule of [
  '*$script,to=cdn.example',
  '*$script,from=cdn.example',
  '||cdn.example^$script',
  '||cdn.example^$script,to=cdn.example',
  '*$script,from=site.example,to=~cdn.example',
]) {
  const to = blocks(rule, 'cdn.example', 'site.example');
  const from = blocks(rule, 'other.example', 'cdn.example');
  const { length } = FiltersEngine.parse(rule).getFilters().networkFilters;
  console.log(`${rule}: ${length} rule, to cdn.example ${to}, from cdn.example ${from}`);
}
console.log(`to=~cdn.example, to another host: ${blocks('*$script,from=site.example,to=~cdn.example', 'other.example', 'site.example')}`);
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
*$script,to=cdn.example: 1 rule, to cdn.example false, from cdn.example true
*$script,from=cdn.example: 1 rule, to cdn.example false, from cdn.example true
||cdn.example^$script: 1 rule, to cdn.example true, from cdn.example false
||cdn.example^$script,to=cdn.example: 1 rule, to cdn.example false, from cdn.example false
*$script,from=site.example,to=~cdn.example: 1 rule, to cdn.example false, from cdn.example false
to=~cdn.example, to another host: true
TXT
