#!/usr/bin/env bash
# @ton/core: an address forgets its network and its kind when it is parsed, and is written as another text.
# Guess: Address.parse(text).toString() is the text, and an address of the test network equals none of the main network.
# Seen with @ton/core 0.63.1: the four usual texts of an account, bounceable or not, main or test network, are equal
# after parsing, and all are written as EQ…. A list of texts that the library has normalised contains no wallet as
# wallets show it (UQ…), and a report from the test network names an account of the main network. parseFriendly tells.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @ton/core@0.63.1 @ton/crypto@3.3.0
cat >seen.mjs <<'JS'
import ton from '@ton/core';
const account = ton.Address.parse(`0:${'12'.repeat(32)}`);
for (const testOnly of [false, true])
  for (const bounceable of [true, false]) {
    const text = account.toString({ testOnly, bounceable });
    const parsed = ton.Address.parse(text);
    const { isTestOnly } = ton.Address.parseFriendly(text);
    console.log(`${text.slice(0, 2)}: written as ${parsed.toString().slice(0, 2)},`,
      `equal ${parsed.equals(account)}, test network ${isTestOnly} for parseFriendly`);
  }
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
EQ: written as EQ, equal true, test network false for parseFriendly
UQ: written as EQ, equal true, test network false for parseFriendly
kQ: written as EQ, equal true, test network true for parseFriendly
0Q: written as EQ, equal true, test network true for parseFriendly
TXT
