#!/usr/bin/env bash
# viem: isAddress refuses an address in capitals, and what getAddress of viem itself returns for a chain.
# Guess: what getAddress returns is an address, and capitals are accepted as lower case is: both are without a checksum.
# Seen with viem 2.57.20 and ethers 6.17.0: getAddress of viem writes the checksum of EIP-1191 (wallets of Rootstock
# show it) if it is given a chain; isAddress has no argument for a chain and refuses the text. Capitals are an address
# for ethers and for getAddress of viem, and none for isAddress of viem. A form that asks isAddress refuses to report
# what such a wallet shows. Change the letters to lower case first, or pass strict: false.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent viem@2.57.20 ethers@6.17.0
cat >seen.mjs <<'JS'
import * as ethers from 'ethers';
import * as viem from 'viem';
const lower = '0x1234567890abcdef1234567890abcdef12345678';
const forms = {
  'lower case': lower,
  capitals: `0x${lower.slice(2).toUpperCase()}`,
  'checksum of EIP-55': viem.getAddress(lower),
  'checksum of chain 30': viem.getAddress(lower, 30),
};
const taken = (getAddress, form) => { try { return getAddress(form) && 'takes'; } catch { return 'throws'; } };
for (const [name, form] of Object.entries(forms))
  for (const [library, { isAddress, getAddress }] of Object.entries({ viem, ethers }))
    console.log(`${name}: ${library} isAddress ${isAddress(form)}, getAddress ${taken(getAddress, form)}`);
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
lower case: viem isAddress true, getAddress takes
lower case: ethers isAddress true, getAddress takes
capitals: viem isAddress false, getAddress takes
capitals: ethers isAddress true, getAddress takes
checksum of EIP-55: viem isAddress true, getAddress takes
checksum of EIP-55: ethers isAddress true, getAddress takes
checksum of chain 30: viem isAddress false, getAddress takes
checksum of chain 30: ethers isAddress false, getAddress throws
TXT
