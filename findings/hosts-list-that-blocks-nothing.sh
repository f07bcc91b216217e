#!/usr/bin/env bash
# @ghostery/adblocker: a hosts file is loaded as filters that match no request.
# Guess: a blocking engine reads `0.0.0.0 host`, the oldest dialect, or says how many lines it cannot read.
# Seen with @ghostery/adblocker 2.18.2: the line becomes a filter that counts as loaded and looks for the text
# "0.0.0.0 host" in URLs. A bare host of a plain list is found in any part of a URL, also in a query of another site.
# @adguard/agtree 4.2.0 reads both lines as a rule for the host. Whoever feeds an engine with a list of the other
# dialect blocks nothing or too much, while the number of filters looks right.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @ghostery/adblocker@2.18.2 @adguard/agtree@4.2.0
cat >seen.mjs <<'JS'
import { defaultParserOptions, RuleParser } from '@adguard/agtree';
import { FiltersEngine, Request } from '@ghostery/adblocker';
for (const line of ['0.0.0.0 evil.example', 'evil.example', '||evil.example^']) {
  const engine = FiltersEngine.parse(line);
  const blocks = (url) => engine.match(Request.fromRawDetails({ url, sourceUrl: url, type: 'main_frame' })).match;
  console.log(`${line}: ${engine.getFilters().networkFilters.length} filter,`,
    `the host ${blocks('https://evil.example/')}, another one ${blocks('https://good.example/?from=evil.example')},`,
    RuleParser.parse(line, { ...defaultParserOptions, parseHostRules: true }).type);
}
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
0.0.0.0 evil.example: 1 filter, the host false, another one false, HostRule
evil.example: 1 filter, the host true, another one true, HostRule
||evil.example^: 1 filter, the host true, another one false, NetworkRule
TXT
