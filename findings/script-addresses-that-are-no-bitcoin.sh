#!/usr/bin/env bash
# class-validator: IsBtcAddress refuses each address that pays to a witness script, and capitals.
# Guess: a check that accepts the newer Taproot accepts the older forms of Bech32 too.
# Seen with class-validator 0.15.1 and validator 13.15.35: Taproot passes; P2WSH, the form of shared and custodial
# wallets, is one character too long for the pattern; capitals, which BIP-173 recommends for QR codes, fail. A form with
# the decorator cannot report them. ioc-extractor 8.2.0 finds no Bech32 at all, so that a report whose addresses are all
# of the newer kinds imports as one without addresses.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent class-validator@0.15.1 validator@13.15.35 ioc-extractor@8.2.0 \
  @scure/btc-signer@2.4.1
cat >seen.mjs <<'JS'
import { Address } from '@scure/btc-signer';
import { isBtcAddress } from 'class-validator';
import { extractIOC } from 'ioc-extractor';
// The examples of BIP-173 and BIP-350.
const addresses = {
  P2WPKH: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
  'P2WPKH in capitals': 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4',
  P2WSH: 'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3',
  P2TR: 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
};
for (const [form, address] of Object.entries(addresses))
  console.log(`${form}: ${Address().decode(address).type}, isBtcAddress ${isBtcAddress(address)},`,
    `ioc-extractor ${extractIOC(`Paid to ${address}.`).btcs.length}`);
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
P2WPKH: wpkh, isBtcAddress true, ioc-extractor 0
P2WPKH in capitals: wpkh, isBtcAddress false, ioc-extractor 0
P2WSH: wsh, isBtcAddress false, ioc-extractor 0
P2TR: tr, isBtcAddress true, ioc-extractor 0
TXT
