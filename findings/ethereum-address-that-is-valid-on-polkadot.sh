#!/usr/bin/env bash
# @polkadot/util-crypto: validateAddress says yes to the addresses of other chains that are written in hexadecimal.
# Guess: an Ethereum address fails the check for an SS58 address, which has a checksum.
# Seen with @polkadot/util-crypto 14.0.3: validateAddress and isAddress are true for it and for the hash of a
# transaction, of which encodeAddress even makes an address that looks right. A service that recognises the chain of a
# text by asking each library in turn files what is reported about Ethereum under Polkadot. Test that the text does not
# begin with 0x.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @polkadot/util@14.0.3 @polkadot/util-crypto@14.0.3
cat >seen.mjs <<'JS'
import * as polkadot from '@polkadot/util-crypto';
const texts = {
  'Polkadot account': polkadot.encodeAddress(new Uint8Array(32).fill(7), 0),
  'Ethereum address': `0x${'12'.repeat(20)}`,
  'transaction hash': `0x${'12'.repeat(32)}`,
  'Bitcoin address': '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
};
const says = (check, text) => { try { return check(text); } catch { return 'throws'; } };
for (const [name, text] of Object.entries(texts))
  console.log(`${name}: validateAddress ${says(polkadot.validateAddress, text)},`,
    `isAddress ${polkadot.isAddress(text)}, encodeAddress ${says((text) => polkadot.encodeAddress(text, 0), text)}`);
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
Polkadot account: validateAddress true, isAddress true, encodeAddress 1ADRXEpxCcHPze36zV1imej5DNcGZ8puqopyUhbppXyGuhP
Ethereum address: validateAddress true, isAddress true, encodeAddress throws
transaction hash: validateAddress true, isAddress true, encodeAddress 1QhELkqjWrJJhVx87xTi86sBqPRQRdhLsw8Mwf7h7EMRf64
Bitcoin address: validateAddress throws, isAddress false, encodeAddress throws
TXT
