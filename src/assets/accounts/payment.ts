import { linkOfLnurl } from '../carriers/encodings.js';
import { cleanUser, memoizeLastTwo } from '../copied-text.js';
import { type Address, withTag } from './account.js';
import { readAddress } from './address.js';
import { IS_PART_OF_ADDRESS } from './cash-address.js';

/** What a payment link or an account says about who is paid. */
export interface Payment {
  /** The accounts that may be paid. */
  readonly recipients: readonly Address[];
  /** The names of recipients, such as `name.eth`. */
  readonly names: readonly string[];
  /** Accounts and names that take part without being paid, such as the contract of a token. */
  readonly contracts: readonly (Address | string)[];
  /** False if something else may be paid or authorised. */
  readonly isUnderstood: boolean;
}

const payment = (
  payees: readonly (Address | string)[],
  isUnderstood = true,
  contracts: Payment['contracts'] = [],
): Payment => ({
  recipients: payees.filter((payee) => typeof payee !== 'string'),
  names: payees.filter((payee) => typeof payee === 'string'),
  contracts,
  isUnderstood,
});

/**
 * An account (CAIP-10: namespace, chain, account), alone or in a `did:pkh`, or the contract of a token (CAIP-19:
 * namespace, chain, kind, contract and possibly the number of a piece).
 */
const CAIP =
  /^(?:did:pkh:)?([-a-z0-9]{3,8}:[-\w]{1,64})(?::([-.%\w]{1,128})|\/[-a-z0-9]{3,8}:([-.%\w]{1,128})(?:\/[-.%\w]{1,78})?)/i;
/**
 * A payment link, or any other scheme before an account: `bitcoin:bc1…?amount=1`, `ethereum:pay-0x…@1/transfer?…`.
 * Digits without a mark, as of the digest in `sha256:…`, are an account only on chains that write accounts so.
 */
const PAYMENT =
  /^(?:web\+)?(?!(?!near|aptos|sui|starknet)[^:]*:(?:\/\/)?[0-9a-f]{64}(?!\w))([a-z][a-z0-9.+-]{0,31}):(?:\/\/)?(?:pay-|[a-z]{1,16}-(?=0x))?(?:transfer\/)?((?:(?:-1|0):)?[\w+/-]{1,128}?(?:%\w{1,31})?)(?=[@?#]|\/\w{0,64}\/?(?:[?#]|$)|$)/i;
/** Schemes of chains that have names for accounts, as in `ethereum:name.eth` (EIP-681) and `ton://transfer/name.ton`. */
const CHAINS_WITH_NAMES =
  'ethereum|eth|polygon|base|ton|tonkeeper|solana|tezos|near|aptos|sui|starknet|stellar|cardano';
/** A payment link to a name. */
const TO_NAME = new RegExp(
  `^(?:web\\+)?(${CHAINS_WITH_NAMES}):(?:\\/\\/)?(?:pay-)?(?:transfer\\/)?((?:[\\p{L}\\p{N}_'’-]{1,63}\\.){1,8}[\\p{L}\\p{N}-]{2,63})(?=[@?#/]|$)`,
  'iu',
);
/** Whether what stands in the place of an account is a name. The last label of a name begins with a letter. */
const IS_NAME = /\.\p{L}[^.]*$/u;
/** A name of Stellar's federation: an account, and the host that says which one it is (SEP-2). */
const FEDERATED =
  /^(?:web\+)?(?:stellar:)?([^\s*<>,:/?#]{1,64}\*((?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}[\p{L}\p{N}-]{1,62}))$/iu;
/** An identifier whose document is on a host: `did:web:HOST%3APORT:PATH`, `did:webvh:DIGEST:HOST`. */
const DID_WEB = /^did:(?:web|(?:webvh|tdw):\w{1,128}):([-.\w]{1,253}(?:%3A\d{1,5})?)((?::[-.%\w]{1,128}){0,16})$/i;
/** A payment link whose recipients are parameters only (BIP-321, ZIP-321). */
const WITHOUT_RECIPIENT = /^(bitcoin|bitcoincash|zcash):(?:\/\/)?()(?=\?)/i;
/** An account with parameters but without a scheme: `r…?dt=1`. */
const BARE = /^([\w+/-]{25,128})(?=\?)/;
/** A destination tag directly after an account of the XRP Ledger. */
const TAGGED = /^([rTX][1-9A-HJ-NP-Za-km-z]{24,47})[-:](\d{1,10})$/;
/** A request for a payment or a signature on Stellar (SEP-7), which names the account in a parameter. */
const STELLAR_REQUEST = /^(?:web\+)?stellar:(pay|tx)\?([^#]*)/i;
/** Parameters of a destination tag (XRP), a memo (Stellar) or a payment id (Monero). */
const TAG_NAMES: Readonly<Record<string, readonly string[]>> = {
  xrp: ['dt', 'tag', 'destinationtag', 'destination_tag'],
  stellar: ['memo'],
  monero: ['tx_payment_id', 'payment_id'],
};
/** Matches what may follow the account: a chain, a call and parameters. A host after the `@` is not allowed. */
const REST = /^(?:@(?:\d{1,78}|0x[0-9a-f]{1,64}))?(?:\/(\w{0,64})\/?)?(?:\?([^#]*))?(?:#.*)?$/i;

/** Calls of a token contract (EIP-681), and how many addresses each has. The last one receives tokens or an allowance. */
const TOKEN_CALLS: ReadonlyMap<string, number> = new Map([
  ['transfer', 1],
  ['transferfrom', 2],
  ['safetransferfrom', 2],
  ['approve', 1],
  ['increaseallowance', 1],
  ['setapprovalforall', 1],
]);

/** Maximum length of an account that is written with white space inside. */
const MAX_SPLIT_LENGTH = 512;

/** Parses an account or a payment link, possibly with white space inside. @returns undefined if the text is neither */
export const readPayment = memoizeLastTwo((text): Payment | undefined => {
  const whole = parsePayment(text);
  if (whole !== undefined || text.length > MAX_SPLIT_LENGTH || !/\s/.test(text)) return whole;
  const words = text.trim().split(/\s+/);
  const joined = parsePayment(words.join(''));
  // What follows a whole account is not its end.
  return words.some((word) => parsePayment(word) !== undefined) ? undefined : joined;
});

const parsePayment = (text: string): Payment | undefined => {
  const bare = parseTagged(text);
  if (bare !== undefined) return payment([bare]);
  const federated = federatedPayment(text);
  if (federated !== undefined) return federated;
  if (!/[:?]/.test(text)) return undefined;
  const [, host, path = ''] = DID_WEB.exec(text) ?? [];
  if (host !== undefined) return payment([`https://${host.replace(/%3A/i, ':')}${path.replaceAll(':', '/')}`]);
  const request = STELLAR_REQUEST.exec(text);
  if (request !== null) return paymentOfRequest(request[1]!, new URLSearchParams(request[2]));
  const { link, scheme = '', account = '' } = schemedAccount(text) ?? {};
  const address =
    parseTagged(`${scheme}:${account}`) ?? (IS_PART_OF_ADDRESS.test(scheme) ? undefined : parseTagged(account));
  const payee = address ?? (account === '' || IS_NAME.test(account) ? account : undefined);
  const rest = link === undefined || payee === undefined ? null : REST.exec(text.slice(link.length));
  if (rest === null || payee === undefined) return undefined;
  const [, call = '', query = ''] = rest;
  const parameters = new URLSearchParams(query);
  if (call !== '' && (typeof payee === 'string' || payee.encoding === 'evm')) return tokenCall(payee, call, parameters);
  return paymentWithParameters(typeof payee === 'string' ? payee : accountWithTag(payee, parameters), parameters);
};

interface SchemedAccount {
  /** The text up to the end of the account. */
  readonly link: string;
  readonly scheme: string;
  readonly account: string;
}

const schemedAccount = (text: string): SchemedAccount | undefined => {
  const caip = CAIP.exec(text);
  if (caip !== null) return { link: caip[0], scheme: caip[1]!, account: caip[2] ?? caip[3]! };
  const found = TO_NAME.exec(text) ?? WITHOUT_RECIPIENT.exec(text) ?? PAYMENT.exec(text);
  if (found !== null) return { link: found[0], scheme: found[1]!, account: found[2]! };
  const [link, account = ''] = BARE.exec(text) ?? [];
  return link === undefined ? undefined : { link, scheme: '', account };
};

const parseTagged = (text: string): Address | undefined => {
  const [, account, tag] = TAGGED.exec(text) ?? [];
  const untagged = account === undefined ? undefined : readAddress(account);
  // An address that already includes a tag cannot have a second tag.
  if (untagged !== undefined) return untagged.keyWithoutTag === undefined ? withTag(untagged, tag!) : undefined;
  return readAddress(text);
};

/** Returns the payment to a federated name, whose host says which account is paid. */
const federatedPayment = (text: string): Payment | undefined => {
  const [, name, server = ''] = FEDERATED.exec(cleanUser(text, '*')) ?? [];
  return name === undefined
    ? undefined
    : payment([{ encoding: 'federation', key: name.toLowerCase() }], true, [server]);
};

const paymentOfRequest = (kind: string, query: URLSearchParams): Payment | undefined => {
  const destination = query.get('destination') ?? '';
  const federated = federatedPayment(destination);
  const account = federated?.recipients[0] ?? readAddress(destination);
  const isPayee = federated !== undefined || account?.encoding === 'stellar';
  const paid = paymentWithParameters(isPayee ? accountWithTag(account!, query) : '', query);
  // A transaction in XDR may do anything.
  const isUnderstood = paid?.isUnderstood === true && kind.toLowerCase() === 'pay';
  return paid && { ...paid, contracts: [...paid.contracts, ...(federated?.contracts ?? [])], isUnderstood };
};

/** Adds the tag in the parameters, if any, to the account. */
const accountWithTag = (account: Address, query: URLSearchParams): Address => {
  const names = TAG_NAMES[account.encoding];
  if (names === undefined) return account;
  for (const [name, value] of query) if (names.includes(name.toLowerCase())) return withTag(account, value) ?? account;
  return account;
};

/** Maximum number of parameters that are read. */
const MAX_PARAMETERS = 16;
/** Parameters that name recipients (BIP-321, ZIP-321). */
const RECIPIENT_PARAMETERS = /^(?:bc|tb|address(?:\.\d{1,4})?)$/;
/** Parameters of accounts that take part without being paid, such as a token. */
const PARTY_PARAMETERS = /^(?:spl-token|reference|asset_issuer|destination)$/;
/** Parameters of text for a reader. */
const TEXT_PARAMETERS = /^(?:label|message|msg|memo|tx_description|recipient_name)$/;
/**
 * Parameters that some wallet pays, authorises or opens. What stands in any other parameter, such as `data` or `x`, is
 * opened by nothing, so it cannot block.
 */
const OPENED_PARAMETERS =
  /^(?:to|r|pj|lno|pay|.*(?:address|account|recipient|receiver|payee|token|contract|jetton|asset|mint|issuer|reference|dest|wallet|lightning|lnurl|link|ur[il]|callback|return|redirect|request|req-).*)$/;
/** Parameters whose recipient cannot be read: Lightning, silent payments, calls in bytes, and what must be understood. */
const UNREAD_PARAMETERS = /^(?:lightning|data|lno|lnurl|sp|pay|pop|req-.*)$/;

/** Returns a web link from which a wallet loads a payment, or to which a wallet sends one. */
const linkOfParameter = (value: string): string | undefined =>
  /^(?:url:)?(https?:\/\/.*)$/is.exec(value)?.[1] ?? linkOfLnurl(value);

/**
 * Returns the recipients between which the payer of a link chooses. An account or a link in another parameter of
 * `OPENED_PARAMETERS` may take part in the payment.
 * @param payee the recipient before the parameters; a name, or empty if there is none
 */
const paymentWithParameters = (payee: Address | string, query: URLSearchParams): Payment | undefined => {
  const recipients = new Map<string, Address>();
  const contracts: (Address | string)[] = [];
  if (typeof payee !== 'string') recipients.set(payee.key, payee);
  let isUnderstood = query.size <= MAX_PARAMETERS;
  for (const [name, value] of [...query].slice(0, MAX_PARAMETERS)) {
    const lower = name.toLowerCase();
    if (TEXT_PARAMETERS.test(lower)) continue;
    const party = linkOfParameter(value) ?? readAddress(value);
    const isRecipient = RECIPIENT_PARAMETERS.test(lower);
    if (isRecipient && typeof party === 'object') recipients.set(party.key, party);
    else if (party !== undefined && (isRecipient || OPENED_PARAMETERS.test(lower))) contracts.push(party);
    if (
      UNREAD_PARAMETERS.test(lower) ||
      (isRecipient ? typeof party !== 'object' : party !== undefined && !PARTY_PARAMETERS.test(lower))
    )
      isUnderstood = false;
  }
  const payees = [...recipients.values(), ...(typeof payee === 'string' && payee !== '' ? [payee] : [])];
  if (payees.length > 0) return payment(payees, isUnderstood, contracts);
  return contracts.length === 0 ? undefined : payment(contracts, false);
};

/** An account as a parameter of EIP-681: with the short name of a chain, without `0x`, or a name. */
const readParty = (text: string): Address | string | undefined => {
  const plain = text.trim().replace(/^[a-z][a-z0-9-]{0,31}:(?=0x)/i, '');
  const address = readAddress(/^[0-9a-f]{40}$/i.test(plain) ? `0x${plain}` : plain);
  return address ?? (/^[^\s/?#:@]{1,253}\.[^\s/?#:@.]{2,63}$/.test(plain) ? plain : undefined);
};

/**
 * Returns who is paid or authorised by a call of a contract. If the call also sends coins (`value`), the contract is
 * paid too. A call that is not known may do anything with the parties that it names.
 */
const tokenCall = (contract: Address | string, call: string, query: URLSearchParams): Payment => {
  const read = [...query].slice(0, MAX_PARAMETERS);
  const texts = read.filter(([name]) => name.toLowerCase() === 'address').map(([, value]) => value);
  // Arrays and the names of parameters in the contract.
  const others = read
    .filter(([name]) => !/^(?:address|u?int\d*|value|gas|gaslimit|gasprice)$/i.test(name))
    .flatMap(([, value]) => value.split(',', MAX_PARAMETERS))
    .flatMap((text) => readParty(text) ?? []);
  const parties = [...texts.flatMap((text) => readParty(text) ?? []), ...others];
  const expected = TOKEN_CALLS.get(call.toLowerCase());
  const isUnderstood = query.size <= MAX_PARAMETERS && expected === texts.length && parties.length === texts.length;
  const payees = isUnderstood ? parties.slice(-1) : parties;
  const isPaid = Number(query.get('value') ?? 0) !== 0;
  const all = isPaid || !isUnderstood ? [contract, ...payees] : payees;
  return payment(all, isUnderstood, all.includes(contract) ? [] : [contract]);
};

/** Returns the account that a text names first. @returns undefined if the text names no account */
export const readAccount = (text: string): Address | undefined => readPayment(text)?.recipients[0];
