import { type Address, readAddress, withTag } from './address.js';

/** The account that a text names, or a payment to it. */
export interface Account extends Address {
  /** Another account that the payment involves. Only a block of it matters: nothing good of it is good of the other. */
  readonly involved?: Address;
}

/** CAIP-10, alone or in a `did:pkh`: namespace, chain, account. */
const CAIP_10 = /^(?:did:pkh:)?[-a-z0-9]{3,8}:[-\w]{1,64}:([-.%\w]{1,128})/i;
/** Payment links: `bitcoin:bc1…?amount=1`, `ethereum:pay-0x…@1/transfer?…`, `ton://transfer/…`. */
const PAYMENT =
  /^(?:web\+)?(?:algorand|aptos|bitcoin|cardano|cosmos|dash|dogecoin|ethereum|litecoin|monero|polkadot|ripple|solana|starknet|stellar|substrate|sui|tezos|ton|tron|xrp|xrpl|zcash):(?:\/\/)?(?:pay-)?(?:transfer\/)?([\w+/-]{1,128}?)(?=[@?#]|\/[a-z]{0,64}(?:[?#]|$)|$)/i;
/** Bitcoin Cash writes the scheme as part of the address. */
const CASH_PAYMENT = /^((?:bitcoincash|ecash):[a-z0-9]{1,128})(?=[?#])/i;
/** EIP-3770: the chain's short name before the account, as wallets copy it (`eth:0x…`, `arb1:0x…`). */
const ON_CHAIN = /^[a-z][a-z0-9-]{0,31}:(0x[0-9a-f]{40})$/i;
/** An account without a scheme, with parameters: `r…?dt=1`. */
const BARE = /^([\w+/-]{25,128})(?=\?)/;
/** A destination tag directly after an account of the XRP Ledger. */
const TAGGED = /^([rTX][1-9A-HJ-NP-Za-km-z]{24,47})[-:](\d{1,10})$/;
/** A request for a payment on Stellar (SEP-7), which names the account in a parameter. */
const STELLAR_PAYMENT = /^(?:web\+)?stellar:pay\?([^#]*)/i;
/** Parameters of a destination tag (XRP) or a memo (Stellar). */
const TAG_NAMES: Readonly<Record<string, readonly string[]>> = {
  xrp: ['dt', 'tag', 'destinationtag', 'destination_tag'],
  stellar: ['memo'],
};
/** After the account: a chain, a call, parameters. A host after the `@` would make all before it a user. */
const REST = /^(?:@(?:\d{1,78}|0x[0-9a-f]{1,64}))?(?:\/([a-z]{1,64}))?(?:\?([^#]*))?(?:#.*)?$/i;

/** Calls of a token contract (EIP-681) whose last `address` gets the tokens, or power over them. */
const TOKEN_CALLS: ReadonlySet<string> = new Set([
  'transfer',
  'transferfrom',
  'safetransferfrom',
  'approve',
  'increaseallowance',
  'setapprovalforall',
]);

/** @returns undefined if the text names no account that is valid in an encoding */
export const readAccount = (text: string): Account | undefined => {
  const bare = readTagged(text);
  if (bare !== undefined || !/[:?]/.test(text)) return bare;
  const request = STELLAR_PAYMENT.exec(text);
  if (request !== null) return ofRequest(new URLSearchParams(request[1]));
  const found =
    CAIP_10.exec(text) ?? PAYMENT.exec(text) ?? CASH_PAYMENT.exec(text) ?? ON_CHAIN.exec(text) ?? BARE.exec(text);
  const named = found === null ? undefined : readTagged(found[1]!);
  if (found === null || named === undefined) return undefined;
  const rest = REST.exec(text.slice(found[0].length));
  if (rest === null) return undefined;
  const [, call = '', query = ''] = rest;
  if (query === '') return named;
  const parameters = new URLSearchParams(query);
  return TOKEN_CALLS.has(call.toLowerCase()) ? ofTokenCall(named, parameters) : ofQuery(named, parameters);
};

const readTagged = (text: string): Address | undefined => {
  const [, account, tag] = TAGGED.exec(text) ?? [];
  const shared = account === undefined ? undefined : readAddress(account);
  // A tag that is in the address already cannot be followed by another one.
  if (shared !== undefined) return shared.shared === undefined ? withTag(shared, tag!) : undefined;
  return readAddress(text);
};

const ofRequest = (query: URLSearchParams): Address | undefined => {
  const account = readAddress(query.get('destination') ?? '');
  return account?.encoding === 'stellar' ? ofQuery(account, query) : undefined;
};

/** The tag of a shared account that the parameters name, or the account. */
const ofQuery = (account: Address, query: URLSearchParams): Address => {
  const names = TAG_NAMES[account.encoding];
  if (names === undefined) return account;
  for (const [name, value] of query) if (names.includes(name.toLowerCase())) return withTag(account, value) ?? account;
  return account;
};

/** Of a call with coins in it, the contract gets the coins. */
const ofTokenCall = (contract: Address, query: URLSearchParams): Account => {
  const recipient = readAddress(query.getAll('address').at(-1) ?? '');
  if (recipient === undefined) return contract;
  const isPaid = Number(query.get('value') ?? 0) !== 0;
  return isPaid ? { ...contract, involved: recipient } : { ...recipient, involved: contract };
};
