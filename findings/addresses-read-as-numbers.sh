#!/usr/bin/env bash
# Lists of wallet addresses: readers that recognise numbers turn 0x… into a number, one of them into 0.
# Guess: an Ethereum address without quotes stays a text; a column of numbers is written in decimal digits.
# Seen with xlsx 0.18.5, d3-dsv 3.0.2 and js-yaml 5.5.0: two addresses that differ in the last digit become the same
# number of 16 digits. With csv-parse 7.0.3 and `cast` every address becomes 0. papaparse 5.7.1 keeps the text. Nothing
# warns, so a block list has one entry, or the entry 0, instead of its addresses.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent xlsx@0.18.5 csv-parse@7.0.3 d3-dsv@3.0.2 papaparse@5.7.1 js-yaml@5.5.0
cat >seen.mjs <<'JS'
import { parse } from 'csv-parse/sync';
import { autoType, csvParse } from 'd3-dsv';
import { load } from 'js-yaml';
import Papa from 'papaparse';
import xlsx from 'xlsx';
const addresses = ['0x1234567890abcdef1234567890abcdef12345678', '0x1234567890abcdef1234567890abcdef12345679'];
const csv = ['address', ...addresses].join('\n');
const { Sheets } = xlsx.read(csv, { type: 'string' });
const seen = {
  xlsx: xlsx.utils.sheet_to_json(Sheets.Sheet1),
  'd3-dsv autoType': csvParse(csv, autoType),
  'csv-parse cast': parse(csv, { columns: true, cast: true }),
  'papaparse dynamicTyping': Papa.parse(csv, { header: true, dynamicTyping: true }).data,
  'js-yaml': load(addresses.map((address) => `- address: ${address}`).join('\n')),
};
for (const [reader, rows] of Object.entries(seen)) {
  const [a, b] = rows.map(({ address }) => address);
  console.log(`${reader}: ${typeof a} ${a}, ${a === b ? 'the same twice' : 'two addresses'}`);
}
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
xlsx: number 1.0392900530792776e+47, the same twice
d3-dsv autoType: number 1.0392900530792776e+47, the same twice
csv-parse cast: number 0, the same twice
papaparse dynamicTyping: string 0x1234567890abcdef1234567890abcdef12345678, two addresses
js-yaml: number 1.0392900530792776e+47, the same twice
TXT
