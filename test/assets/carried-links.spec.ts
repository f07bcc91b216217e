import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { APP_WRAPPING_LINKS, NOTATIONS, WEB_WRAPPING_LINKS, written } from './carried-links.js';

const HOST = 'evil.example';
const urlOf = (content: string): string | undefined => {
  const { parsed, internalAddress } = { parsed: undefined, internalAddress: undefined, ...parseContent(content) };
  return parsed === undefined ? internalAddress && `internal ${internalAddress.name}` : `${parsed.type} ${parsed.name}`;
};
const wrappingHostsOf = (content: string): (string | undefined)[] =>
  (parseContent(content).parsed?.carriers ?? []).map(({ host }) => host);

describe('A link that carries another link', () => {
  const forms = [...WEB_WRAPPING_LINKS, ...APP_WRAPPING_LINKS, ...NOTATIONS];

  it.each(forms)('is checked and stored as the link that it opens: %s', (form) => {
    const content = written(form, HOST);
    expect(urlOf(content)).toBe('URL evil.example');
    expect(parseContent(content).parsed!.keys).toContain('URL:evil.example');
    expect(assetKey({ type: 'URL', content })).toBe('URL:evil.example');
  });

  it.each(WEB_WRAPPING_LINKS)('is parsed with the host of the wrapping link: %s', (form) => {
    expect(wrappingHostsOf(written(form, HOST)).length).toBeGreaterThan(0);
    expect(wrappingHostsOf(written(form, HOST))).not.toContain(HOST);
  });

  it('that names only the host of a page never stands for a host of many people, nor for a page', () => {
    const link = (host: string): string => `https://links.us1.defend.egress.com/Warning?@OriginalLink=${host}&crId=1`;
    for (const [type, host] of [
      ['URL', 'docs.google.com'],
      ['URL', 'metamask.app.link'],
      ['PAGE', HOST],
    ] as const)
      expect(assetKey({ type, content: link(host) })).toBe(`${type}:${link(host)}`);
    expect(parseContent(link(HOST)).parsed).toMatchObject({ name: HOST, isUncertain: true });
  });

  it('is read without the line breaks that the URL parser ignores, also within a percent escape', () => {
    expect(urlOf('https://www.google.com/url?q=https%3A%2F%2F%6\n5vil.example%2Fa')).toBe('URL evil.example');
    expect(urlOf('https://www.google.com/url?%71=https%3A%2F%2Fevil.example&sa=D')).toBe('URL evil.example');
  });

  it('is parsed as a profile or a page if the carried link leads to one', () => {
    for (const content of ['https://metamask.app.link/dapp/x.com/Evil', 'trust://open_url?url=https://x.com/Evil'])
      expect(urlOf(content)).toBe('TWITTER evil');
    expect(assetKey({ type: 'PAGE', content: 'https://link.metamask.io/dapp/evil.example/a/b?x=1' })).toBe(
      'PAGE:evil.example/a/b',
    );
  });

  it.each([
    ['https://0-80ak6aa92e-com.translate.goog/?_x_tr_sl=auto&_x_tr_enc=0', 'URL:xn--80ak6aa92e.com'],
    ['https://weebly-com.translate.goog/a?_x_tr_hp=evilsite-&_x_tr_sl=auto', 'PAGE:evilsite.weebly.com/a'],
    ['https://1-cn--sec-com.translate.goog/a?_x_tr_enc=1', 'PAGE:cn-sec.com/a'],
    ['https://0-a-com.translate.goog/a?_x_tr_sl=auto', 'PAGE:0.a.com/a'],
    ['https://xn----80ak6aa92e-com.translate.goog/', 'URL:xn--80ak6aa92e.com'],
    ['https://x-com.translate.goog/search?_x_tr_sl=auto&q=a&_x_tr_tl=en#b', 'PAGE:x.com/search?q=a'],
    [
      'https://a.r.us-east-1.awstrack.me/L0/https:%2F%2Fx.com%2Fsearch%3Fq=a%252Fb/1/0100018a/AbC=380?c=1',
      'PAGE:x.com/search?q=a%2Fb',
    ],
    ['https://a.r.us-east-1.awstrack.me/L0/https://x.com/search/1', 'PAGE:x.com/search/1'],
    ['https://click.pstmrk.it/3s/evil.example%2Flogin/AbC/xyz', 'PAGE:evil.example/login'],
  ])('is stored without what the carrier adds to it: %s', (content, key) => {
    expect(assetKey({ type: 'PAGE', content })).toBe(key);
  });

  it.each([1, 2, 3])('keeps the end of a page whose name ends in punctuation, through carriers: %s', (carriers) => {
    let content = 'https://evil.example/p/q.';
    for (let n = 0; n < carriers; n += 1) content = `https://l.facebook.com/l.php?u=${encodeURIComponent(content)}`;
    const { keys, blockingKeys } = parseContent(content).parsed!;
    expect(keys).toContain('PAGE:evil.example/p/q.');
    expect(blockingKeys).toEqual(['PAGE:evil.example/p/q']);
  });

  it('is not read if a translator names no host', () => {
    const content = 'https://evil-example.translate.goog/?_x_tr_hp=good.example/';
    expect(parseContent(content).parsed).toMatchObject({
      keys: [`URL:${content}`, `PAGE:${content}`],
      isUncertain: true,
    });
    expect(wrappingHostsOf(content)).toEqual(['evil-example.translate.goog']);
  });

  it('has the same result through two random wrapping links as through one', () => {
    const wrappingLink = fc.constantFrom(
      ...[...WEB_WRAPPING_LINKS, ...APP_WRAPPING_LINKS].filter((form) =>
        /^(?!intent:\/\/HOST|some-new).*=LINK/.test(form),
      ),
    );
    fc.assert(
      fc.property(wrappingLink, wrappingLink, (outer, inner) => {
        const content = outer.replace('LINK', encodeURIComponent(written(inner, HOST)));
        expect({ content, url: urlOf(content) }).toEqual({ content, url: 'URL evil.example' });
      }),
      { numRuns: 300, seed: 3 },
    );
  });

  it.each([
    'https://metamask.app.link/',
    'https://metamask.app.link/dapp/',
    'https://link.metamask.io.evil.example/dapp/good.example',
    'https://evil.app.link/dapp/good.example',
    'https://evil.example/dapp?cb_url=https%3A%2F%2Fgood.example',
    'https://evil.example/[good](https://good.example)',
    'googlechrome://evil.example/?u=https://good.example',
  ])('is parsed as its own host if its host is not known to wrap links: %s', (content) => {
    expect(urlOf(content)).toMatch(/^(?:URL|PAGE) (?:metamask\.app\.link|link\.metamask\.io\.|evil\.)/);
  });

  it.each(['/search%3Fq%3Da', '%2Fsearch.example', '%5Csearch.example'])(
    'has no host if the carried link has none: %s',
    (target) => {
      const content = `https://www.google.com/url?q=${target}`;
      expect(parseContent(content).parsed).toMatchObject({
        keys: [`URL:${content}`, `PAGE:${content}`],
        isUncertain: true,
      });
      expect(wrappingHostsOf(content)).toEqual(['www.google.com']);
    },
  );

  it.each([
    ['https://go.cb-w.com/dapp?cb_url=https://good.example&cb_url=https://evil.example', 'go.cb-w.com'],
    ['https://metamask.app.link/dapp/'.repeat(40), 'metamask.app.link'],
    ['https://metamask.app.link/dapp/a^b.c', 'metamask.app.link'],
  ])('has no host if the carried link is ambiguous: %s', (content, wrappingLink) => {
    const { parsed } = parseContent(content);
    expect(parsed).toMatchObject({ type: 'URL', keys: [`URL:${content}`, `PAGE:${content}`], host: undefined });
    expect(wrappingHostsOf(content)).toContain(wrappingLink);
    expect(assetKey({ type: 'URL', content })).toBe(`URL:${content}`);
  });

  it('has each link of an intent or an unknown app as an alternative', () => {
    const { parsed } = parseContent(
      'intent://evil.example#Intent;scheme=https;S.browser_fallback_url=https%3A%2F%2Fgood.example;end',
    );
    expect([parsed, ...parsed!.alternatives!].map((one) => one!.name)).toEqual(['evil.example', 'good.example']);
    const unknownApp = parseContent('some-wallet://open?x=https://good.example&url=https://evil.example').parsed!;
    expect(unknownApp.alternatives!.map(({ name }) => name)).toEqual(['good.example', 'evil.example']);
    expect(unknownApp.isUncertain).toBe(true);
  });

  it('is not unwrapped if it is a script or an account, or leads to a script', () => {
    for (const content of [
      'javascript:alert("<https://good.example>")',
      'data:text/html,[x](https://good.example)',
      'https://metamask.app.link/dapp/javascript:alert(1)',
    ])
      expect(urlOf(content) ?? 'internal').toMatch(/^internal/);
    expect(urlOf('ton://transfer/EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2?r=https://good.example')).toMatch(
      /^ADDRESS/,
    );
    expect(urlOf('solana:So11111111111111111111111111111111111111112?link=https://good.example')).toMatch(/^ADDRESS/);
  });
});

describe('Content on an IPFS gateway', () => {
  const CID = 'bafybeie5nqv6kd3qnfjupgvz34woh3oksc3iau6abmyajn7qvtf47pxkue';
  const OTHER = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi';
  const KEY = 'k51qzi5uqu5dlvj2baxnqndepeb86cbk3ng7n3i46uzyxzyqj2xjonzllnv0v8';
  const cidsOf = (content: string): string[] => {
    const { keys, blockingKeys = [] } = parseContent(content).parsed!;
    return [...keys, ...blockingKeys].flatMap((key) => (key.startsWith('IPFS:') ? [key.slice('IPFS:'.length)] : []));
  };

  for (const folder of ['ipfs', 'ipns', '/ipfs', 'IPFS', '%69pfs'])
    it.each([
      'name.ipns.dweb.link',
      'evil-example.ipns.gateway.example',
      'www.evil.example.ipns.localhost.example',
      `${KEY}.ipns.dweb.link`,
      'name.eth.limo',
      'sub.name.eth.link',
      'name.w3s.link',
      'name.on-fleek.app',
    ])(`is not identified by the CID in /${folder}/CID if the host %s belongs to a single publisher`, (host) => {
      expect(cidsOf(`https://${host}/${folder}/${CID}`)).not.toContain(CID);
    });

  it.each([`${OTHER}.ipfs.dweb.link`, `${OTHER}.ipfs.gateway.example`, `x.${OTHER}.ipfs.gateway.example`])(
    'is identified by the CID in the host %s, not by the path',
    (host) => {
      expect(cidsOf(`https://${host}/ipfs/${CID}`)).toEqual([OTHER]);
    },
  );

  it('is identified by a short inline CID in the host', () => {
    expect(cidsOf(`https://bafkqabtimvwgy3yk.ipfs.dweb.link/ipfs/${CID}`)).toEqual(['bafkqabtimvwgy3yk']);
  });

  it.each(['ipfs.io', 'gateway.ipfs.io', 'gateway.pinata.cloud', 'dweb.link', 'ipfs.eth.example.com'])(
    'is identified by the CID in the path on the gateway %s',
    (host) => {
      expect(cidsOf(`https://${host}/ipfs/${CID}`)).toEqual([CID]);
    },
  );
});
