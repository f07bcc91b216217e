import { type Address, readAddress, withTag } from './address.js';

/** The account that a text names, or the recipient of a payment link. */
export interface Account extends Address {
  /**
   * Another account that the payment involves, such as the token contract. If the other account is BLOCKED, the payment
   * is BLOCKED. The status ALLOWED of the other account has no effect.
   */
  readonly relatedAddress?: Address;
}

/** A CAIP-10 account (namespace, chain, account), alone or in a `did:pkh`. */
const CAIP_10 = /^(?:did:pkh:)?[-a-z0-9]{3,8}:[-\w]{1,64}:([-.%\w]{1,128})/i;
/** Payment links: `bitcoin:bc1…?amount=1`, `ethereum:pay-0x…@1/transfer?…`, `ton://transfer/…`. */
const PAYMENT =
  /^(?:web\+)?(?:algorand|aptos|bitcoin|cardano|cosmos|dash|dogecoin|ethereum|litecoin|monero|polkadot|ripple|solana|starknet|stellar|substrate|sui|tezos|ton|tron|xrp|xrpl|zcash):(?:\/\/)?(?:pay-)?(?:transfer\/)?([\w+/-]{1,128}?)(?=[@?#]|\/[a-z]{0,64}(?:[?#]|$)|$)/i;
/** A payment link of Bitcoin Cash, where the scheme is part of the address. */
const CASH_PAYMENT = /^((?:bitcoincash|ecash):[a-z0-9]{1,128})(?=[?#])/i;
/** EIP-3770: the short name of the chain before the account (`eth:0x…`, `arb1:0x…`). */
const ON_CHAIN = /^[a-z][a-z0-9-]{0,31}:(0x[0-9a-f]{40})$/i;
/** An account with parameters but without a scheme: `r…?dt=1`. */
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
/** Matches what may follow the account: a chain, a call and parameters. A host after the `@` is not allowed. */
const REST = /^(?:@(?:\d{1,78}|0x[0-9a-f]{1,64}))?(?:\/([a-z]{1,64}))?(?:\?([^#]*))?(?:#.*)?$/i;

/** Calls of a token contract (EIP-681) whose last `address` receives the tokens or an allowance. */
const TOKEN_CALLS: ReadonlySet<string> = new Set([
  'transfer',
  'transferfrom',
  'safetransferfrom',
  'approve',
  'increaseallowance',
  'setapprovalforall',
]);

/** Parses an account or a payment link. @returns undefined if the text has no valid account */
export const readAccount = (text: string): Account | undefined => {
  const bare = parseTagged(text);
  if (bare !== undefined || !/[:?]/.test(text)) return bare;
  const request = STELLAR_PAYMENT.exec(text);
  if (request !== null) return accountOfPaymentRequest(new URLSearchParams(request[1]));
  const found =
    CAIP_10.exec(text) ?? PAYMENT.exec(text) ?? CASH_PAYMENT.exec(text) ?? ON_CHAIN.exec(text) ?? BARE.exec(text);
  const named = found === null ? undefined : parseTagged(found[1]!);
  if (found === null || named === undefined) return undefined;
  const rest = REST.exec(text.slice(found[0].length));
  if (rest === null) return undefined;
  const [, call = '', query = ''] = rest;
  if (query === '') return named;
  const parameters = new URLSearchParams(query);
  return TOKEN_CALLS.has(call.toLowerCase())
    ? accountOfTokenCall(named, parameters)
    : accountWithTag(named, parameters);
};

const parseTagged = (text: string): Address | undefined => {
  const [, account, tag] = TAGGED.exec(text) ?? [];
  const untagged = account === undefined ? undefined : readAddress(account);
  // An address that already includes a tag cannot have a second tag.
  if (untagged !== undefined) return untagged.keyWithoutTag === undefined ? withTag(untagged, tag!) : undefined;
  return readAddress(text);
};

const accountOfPaymentRequest = (query: URLSearchParams): Address | undefined => {
  const account = readAddress(query.get('destination') ?? '');
  return account?.encoding === 'stellar' ? accountWithTag(account, query) : undefined;
};

/** Adds the tag in the parameters, if any, to the account. */
const accountWithTag = (account: Address, query: URLSearchParams): Address => {
  const names = TAG_NAMES[account.encoding];
  if (names === undefined) return account;
  for (const [name, value] of query) if (names.includes(name.toLowerCase())) return withTag(account, value) ?? account;
  return account;
};

/**
 * Returns the recipient of a token call. If the call also sends coins (`value`), the contract receives the coins and is
 * returned instead.
 */
const accountOfTokenCall = (contract: Address, query: URLSearchParams): Account => {
  const recipient = readAddress(query.getAll('address').at(-1) ?? '');
  if (recipient === undefined) return contract;
  const isPaid = Number(query.get('value') ?? 0) !== 0;
  return isPaid ? { ...contract, relatedAddress: recipient } : { ...recipient, relatedAddress: contract };
};
