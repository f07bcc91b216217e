#!/usr/bin/env bash
# eth-phishing-detect: the list of MetaMask allows hosts that it blocks.
# Guess: a host in the array `blacklist` is phishing for the detector of the same package; the two arrays contradict
# each other nowhere, because the package tests its list.
# Seen with eth-phishing-detect 1.2.0: 11 of the 13,752 blocked hosts pass its own detector, which looks at `whitelist`
# first. Three of them are in both arrays, and eight are below an allowed host. Whoever reads only `blacklist`
# blocks three hosts that its makers allow; whoever follows the detector lets eight blocked hosts pass.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent eth-phishing-detect@1.2.0
cat >seen.cjs <<'JS'
const Detector = require('eth-phishing-detect/src/detector');
const list = require('eth-phishing-detect/src/config.json');
const detector = new Detector(list);
const passed = list.blacklist.filter((host) => !detector.check(host).result);
const allowed = new Set(list.whitelist);
const isBelow = (host) => list.whitelist.some((above) => host.endsWith(`.${above}`));
console.log(`${list.blacklist.length} blocked, ${passed.length} of them pass the detector`);
console.log(`in both arrays: ${passed.filter((host) => allowed.has(host)).sort().join(', ')}`);
console.log(`below an allowed host: ${passed.filter((host) => !allowed.has(host) && isBelow(host)).length}`);
JS
node seen.cjs | tee seen.txt
diff seen.txt - <<'TXT'
13752 blocked, 11 of them pass the detector
in both arrays: coinbased.xyz, metmask.com, spi.club
below an allowed host: 8
TXT
