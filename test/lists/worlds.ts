import { type OwnStatus, type TestList } from '../asset-check/checker-of.js';

/** A small world of sources whose entries are near each other. */
export interface World {
  readonly statuses: readonly OwnStatus[];
  readonly lists: readonly TestList[];
  readonly guarded: readonly string[];
}

/** Returns a source of random numbers from 0 to 1 (mulberry32). */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const LABELS = ['a', 'b', 'www', 'ads1', 'm', 'wallet', 'walet', 'login'];
const DOMAINS = [
  'evil.example',
  'wallet.org',
  'walet.com',
  'meta.wallet.io',
  'github.io',
  'pages.dev',
  'amazonaws.com',
  's3.amazonaws.com',
  'compute.amazonaws.com',
  'co.uk',
  'kawasaki.jp',
  'city.kawasaki.jp',
  'facebook.com',
  'medium.com',
  't.me',
  'bsky.social',
  'gmail.com',
  'hotmail.co.uk',
  'google.com',
  'translate.goog',
  'mcas.ms',
  'dweb.link',
  'x.com',
  'blogspot.com',
  'home.arpa',
  'web.app',
  'mail.com',
  'discord.com',
  'evil.co.uk',
];
const PATHS = ['/p', '/p/q', '/p/q/r', '/login', '/viewtopic.php', '/oauth/authorize', '/x.html', '/somebody', '/p/q.'];
const MORE = ['?t=1', '?p=2', '?a=b', '#top', '?client_id=7&response_type=code', '?url=evil.example', '#/route', '#'];
const ACCOUNTS = [
  '0x00000000219ab540356cbb839cbe05303d7705fa',
  '0x00000000219AB540356CBB839CBE05303D7705FA',
  'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq',
  '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
  'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
];
const CID = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi';
const ADDRESSES = ['1.2.3.4', '1.2.3.5', '1.2.200.1', '1.77.0.1', '10.0.0.1', '192.168.1.1', '192.7.0.1', '8.8.8.8'];
const RANGES = ['1.2.3.0/24', '1.2.3.4/31', '1.2.0.0/16', '1.0.0.0/8', '192.0.0.0/8', '1.2.3.5/32'];

/** Makes random entries and contents around a few domains. */
export class Maker {
  private readonly domains: readonly string[];
  /** The hosts made so far, most of which are used again, so that entries and contents meet. */
  private readonly made: string[] = [];
  /** The same, of pages. */
  private readonly pages: string[] = [];
  private readonly mailboxes: string[] = [];

  constructor(private readonly random: () => number) {
    this.domains = Array.from({ length: 4 }, () => this.pick(DOMAINS));
  }

  private pick<T>(all: readonly T[]): T {
    return all[Math.floor(this.random() * all.length)]!;
  }

  private chance(share: number): boolean {
    return this.random() < share;
  }

  private many(most: number, make: () => string): string[] {
    return Array.from({ length: Math.floor(this.random() * (most + 1)) }, make);
  }

  private host(): string {
    if (this.made.length > 0 && this.chance(0.6))
      return (this.chance(0.25) ? `${this.pick(LABELS)}.` : '') + this.pick(this.made);
    const labels = this.many(this.chance(0.1) ? 6 : 2, () => this.pick(LABELS));
    const host = [...labels, this.pick(this.domains)].join('.');
    if (this.made.length < 8) this.made.push(host);
    return host;
  }

  private page(): string {
    if (this.pages.length > 0 && this.chance(0.4))
      return (this.chance(0.25) ? `${this.pick(LABELS)}.` : '') + this.pick(this.pages);
    const page = this.host() + this.pick(PATHS) + (this.chance(0.15) ? this.pick(MORE) : '');
    if (this.pages.length < 4) this.pages.push(page);
    return page;
  }

  private mailbox(users: readonly string[]): string {
    if (this.mailboxes.length > 0 && this.chance(0.5)) return this.pick(this.mailboxes);
    const mailbox = `${this.pick(users)}@${this.host()}`;
    if (this.mailboxes.length < 4) this.mailboxes.push(mailbox);
    return mailbox;
  }

  /** Makes an entry of a list. */
  entry(hasPages: boolean, hasAccounts = hasPages): string {
    const kind = this.random();
    if (kind < 0.25 && hasPages) return this.page();
    if (kind < 0.3 && hasPages) return this.chance(0.5) ? CID : this.pick(ADDRESSES) + this.pick(PATHS);
    if (kind < 0.35 && hasAccounts) return this.pick(ACCOUNTS);
    if (kind < 0.42) return this.pick(RANGES);
    if (kind < 0.48) return this.pick(ADDRESSES);
    return (this.chance(0.15) ? '*.' : '') + this.host();
  }

  private rule(): string {
    const host = this.host();
    return this.pick([
      `||${host}^`,
      `||${host}^`,
      `@@||${host}^`,
      `|${host}^`,
      `@@||*ads*.${host}^`,
      `@@|${host}^`,
      `||${host}^$important`,
      `@@||ad*.${host}^`,
      `||${host}^$badfilter`,
      host,
    ]);
  }

  private list(): TestList {
    const kind = this.random();
    const lines = (most: number, make: () => string): string => ['filler.example', ...this.many(most, make)].join('\n');
    if (kind < 0.3) {
      const config = {
        tolerance: this.pick([1, 1, 1, 0]),
        fuzzylist: this.chance(0.6)
          ? ['wallet.io', 'meta.wallet.io', 'b.wallet.com'].slice(0, 1 + this.random() * 3)
          : [],
        whitelist: this.many(3, () => this.host()),
        blacklist: ['filler.example', ...this.many(4, () => this.entry(true, false))],
      };
      return { format: 'metamask', text: JSON.stringify(config) };
    }
    if (kind < 0.4)
      return {
        format: 'polkadot',
        text: JSON.stringify({ deny: ['filler.example', this.host(), this.page()], allow: [this.host()] }),
      };
    if (kind < 0.55) return { format: 'adblock', text: lines(6, () => this.rule()) };
    return { verdict: this.chance(0.25) ? 'ALLOWED' : 'BLOCKED', text: lines(6, () => this.entry(true)) };
  }

  status(): OwnStatus {
    const verdict = this.chance(0.5) ? 'BLOCKED' : 'ALLOWED';
    const kind = this.random();
    if (kind < 0.1) return `${verdict} EMAIL ${this.mailbox(['joe', 'jo-e', 'j.o'])}`;
    if (kind < 0.2)
      return `${verdict} ${this.pick(['TELEGRAM', 'MEDIUM', 'TWITTER', 'FACEBOOK'])} ${this.pick(LABELS)}`;
    if (kind < 0.25) return `${verdict} IPFS ${CID}`;
    if (kind < 0.3) return `${verdict} ADDRESS ${this.pick(ACCOUNTS)}`;
    return `${verdict} URL ${this.chance(0.35) ? this.page() : this.chance(0.1) ? this.pick(ADDRESSES) : this.host()}`;
  }

  world(): World {
    return {
      statuses: this.many(5, () => this.status()) as OwnStatus[],
      lists: Array.from({ length: Math.floor(this.random() * 4) }, () => this.list()),
      guarded: this.chance(0.4) ? this.many(3, () => this.host()) : [],
    };
  }

  content(): string {
    const kind = this.random();
    const scheme = this.pick(['', 'https://', 'http://']);
    if (kind < 0.4) return scheme + this.host() + this.pick(['', '', '/', '/#x', '?p=2', '/?p=2']);
    if (kind < 0.7) return scheme + this.page() + (this.chance(0.2) ? this.pick(['/', '/z', '/z/', '/.', '/a b']) : '');
    if (kind < 0.8) return this.mailbox(['joe', 'jo-e', 'j.o', 'Joe', 'z']);
    if (kind < 0.86) return scheme + this.pick(ADDRESSES) + this.pick(['', '/', ...PATHS, ':80']);
    if (kind < 0.9) return this.pick([...ACCOUNTS, CID, `ipfs://${CID}`, `@${this.pick(LABELS)}`]);
    if (kind < 0.94) return `https://${this.pick(['', `${CID}.ipfs.`])}${this.host()}/ipfs/${CID}`;
    return (
      scheme +
      this.pick(['wallet', 'walett', 'w.allet', 'a.wallet', 'wwww.allet', 'metawallet']) +
      this.pick(['.com', '.io', '.a.com', '.evil.example'])
    );
  }
}
