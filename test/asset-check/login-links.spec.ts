import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { checkerOf, guardOf, type OwnStatus } from './checker-of.js';

const encoded = encodeURIComponent;

/** Endpoints of OAuth and OpenID Connect, from the documentation of the providers. */
const ENDPOINTS = [
  'login.microsoftonline.com/common/oauth2/v2.0/authorize',
  'login.microsoftonline.com/consumers/oauth2/v2.0/authorize',
  'login.live.com/oauth20_authorize.srf',
  'slack.com/oauth/v2/authorize',
  'accounts.google.com/o/oauth2/v2/auth',
  'accounts.google.com/o/oauth2/auth/oauthchooseaccount',
  'github.com/login/oauth/authorize',
  'bitbucket.org/site/oauth2/authorize',
  'www.reddit.com/api/v1/authorize',
  'www.figma.com/oauth',
  'www.facebook.com/v19.0/dialog/oauth',
  'discord.com/oauth2/authorize',
  'discord.com/api/oauth2/authorize',
  'app.hubspot.com/oauth/authorize',
  'api.notion.com/v1/oauth/authorize',
  'account.box.com/api/oauth2/authorize',
  'www.paypal.com/signin/authorize',
  'accounts.spotify.com/authorize',
  'oauth.yandex.ru/authorize',
  'oauth.vk.com/authorize',
  'www.amazon.com/ap/oa',
  'acme.okta.com/oauth2/v1/authorize',
  'acme.okta.com/oauth2/default/v1/authorize',
  'acme.auth0.com/authorize',
  'sso.acme.example/as/authorization.oauth2',
  'www.linkedin.com/oauth/v2/authorization',
  'id.acme.example/connect/authorize',
  'adfs.acme.example/adfs/oauth2/authorize/',
  'id.acme.example/realms/acme/protocol/openid-connect/auth',
  'app.asana.com/-/oauth_authorize',
  'launchpad.37signals.com/authorization/new',
  'api.login.yahoo.com/oauth2/request_auth',
  'www.pinterest.com/oauth/',
  'appcenter.intuit.com/connect/oauth2',
  'graph.qq.com/oauth2.0/authorize',
  'openapi.baidu.com/oauth/2.0/authorize',
  'account.docusign.com/oauth/auth',
] as const;

describe('A request of OAuth or OpenID Connect', () => {
  it.each(ENDPOINTS)('is the page of its client: %s', async (endpoint) => {
    const page = `https://${endpoint}`;
    const check = await checkerOf([
      `BLOCKED PAGE ${page}?client_id=EVIL&response_type=code&redirect_uri=${encoded('https://app.example/cb')}&state=1`,
    ]);
    expect(check(`${page}?scope=repo&state=2&client_id=EVIL`).status).toBe('BLOCKED');
    expect(check(`${page}?client_id=EVIL&redirect_uri=${encoded('https://other.example/cb')}#x`).status).toBe(
      'BLOCKED',
    );
    expect(check(`${page}?client_id=GOOD&response_type=code&state=1`).status).toBe('UNKNOWN');
    expect(check(page).status).toBe('UNKNOWN');
    expect(check(`${page}?client_id=GOOD&client_id=EVIL`).status).toBe('BLOCKED');
    expect(check(`${page}?CLIENT_ID=EVIL`).status).toBe('BLOCKED');
  });

  it.each(ENDPOINTS)('is not blocked by a report of the endpoint without a client: %s', async (endpoint) => {
    const check = await checkerOf([`BLOCKED PAGE https://${endpoint}`]);
    expect(check(`https://${endpoint}?client_id=GOOD`).status).toBe('UNKNOWN');
  });

  it.each(ENDPOINTS)('is an entry of a list, also below a guarded host: %s', async (endpoint) => {
    const list = {
      text: `https://${endpoint}?client_id=EVIL&scope=x&redirect_uri=${encoded('https://app.example/')}\n`,
    };
    const guard = await guardOf(endpoint.split('/', 1)[0]!.replace('www.', ''));
    for (const guards of [[], [guard]]) {
      const check = await checkerOf([], [list], guards);
      expect(check(`https://${endpoint}?client_id=EVIL&state=3`).status).toBe('BLOCKED');
      expect(check(`https://${endpoint}?client_id=GOOD`).status).toBe('UNKNOWN');
      expect(check(`https://${endpoint}`).status).toBe('UNKNOWN');
    }
  });

  it('is one page in all tenants, versions and letter cases of the path', () => {
    const key = 'PAGE:login.microsoftonline.com/oauth2/authorize?client_id=EVIL';
    for (const path of ['common/oauth2/v2.0/authorize', 'organizations/oauth2/v2.0/authorize/', 'T/OAUTH2/Authorize'])
      expect(assetKey({ type: 'PAGE', content: `https://login.microsoftonline.com/${path}?client_id=EVIL` })).toBe(key);
    expect(assetKey({ type: 'PAGE', content: key.slice('PAGE:'.length) })).toBe(key);
  });

  it.each(['app_id', 'appid', 'client_key', 'bot_id', 'oauth_token', 'oauth_consumer_key'])(
    'may name its client in %s',
    async (name) => {
      const page = 'https://id.acme.example/oauth/authorize';
      const check = await checkerOf([`BLOCKED PAGE ${page}?${name}=EVIL`]);
      expect(check(`${page}?state=1&${name}=EVIL`).status).toBe('BLOCKED');
      expect(check(`${page}?${name}=GOOD`).status).toBe('UNKNOWN');
    },
  );

  it('is blocked with its host, with a folder above it, and with its host on a list', async () => {
    const page = 'https://kit.example/a/b/oauth/authorize?client_id=x';
    for (const status of ['URL kit.example', 'PAGE kit.example/a', 'PAGE https://kit.example/a/b/'])
      expect((await checkerOf([`BLOCKED ${status}` as OwnStatus]))(page).status).toBe('BLOCKED');
    expect((await checkerOf([], [{ text: 'kit.example/a\n' }]))(page).status).toBe('BLOCKED');
    expect((await checkerOf([], [{ text: 'kit.example\n' }]))(page).status).toBe('BLOCKED');
  });

  it.each(['a/b?x=1&', 'a/b/?', 'a/b/c?', 'a/b?t=1&'])(
    'does not free a blocked page on any other path: %s',
    async (link) => {
      for (const host of ['kit.example', 'www.kit.example']) {
        const page = `https://${host}/${link}client_id=x&response_type=code`;
        expect((await checkerOf([], [{ text: 'kit.example/a/b\n' }]))(page).status).toBe('BLOCKED');
        const check = await checkerOf(['BLOCKED PAGE kit.example/a/b', 'BLOCKED PAGE www.kit.example/a/b']);
        expect(check(page).status).toBe('BLOCKED');
        expect(check(`https://${host}/a/?client_id=x&response_type=code`).status).toBe('UNKNOWN');
      }
      const deep = `kit.example${'/a'.repeat(30)}`;
      const check = await checkerOf([`BLOCKED PAGE ${deep}`]);
      expect(check(`https://${deep}?client_id=x&response_type=code`).status).toBe('BLOCKED');
    },
  );

  it('is no profile', () => {
    expect(parseContent('https://www.facebook.com/v19.0/dialog/oauth?client_id=1').parsed!.type).toBe('PAGE');
  });
});

/** Links of log-ins, log-outs and consents, before the link that is opened afterwards. */
const RETURNS = [
  'https://login.microsoftonline.com/common/oauth2/v2.0/authorize?client_id=x&redirect_uri=',
  'https://login.microsoftonline.com/common/oauth2/v2.0/logout?post_logout_redirect_uri=',
  'https://github.com/login/oauth/authorize?client_id=x&redirect_uri=',
  'https://github.com/login?return_to=',
  'https://slack.com/oauth/v2/authorize?client_id=1&redirect_uri=',
  'https://accounts.google.com/ServiceLogin?continue=',
  'https://accounts.google.com/Logout?continue=',
  'https://accounts.google.com/AccountChooser?continue=',
  'https://www.dropbox.com/oauth2/authorize?client_id=1&redirect_uri=',
  'https://www.facebook.com/dialog/oauth?client_id=1&redirect_uri=',
  'https://www.facebook.com/v19.0/dialog/oauth?client_id=1&redirect_uri=',
  'https://id.twitch.tv/oauth2/authorize?client_id=1&redirect_uri=',
  'https://oauth.telegram.org/auth?bot_id=1&origin=',
  'https://oauth.telegram.org/auth?bot_id=1&return_to=',
  'https://oauth.vk.com/authorize?client_id=1&redirect_uri=',
  'https://gitlab.com/oauth/authorize?client_id=1&redirect_uri=',
  'https://www.amazon.com/ap/signin?openid.return_to=',
  'https://steamcommunity.com/openid/login?openid.return_to=',
  'https://sso.acme.example/idp/startSSO.ping?TargetResource=',
  'https://adfs.acme.example/adfs/ls/?wa=wsignin1.0&wreply=',
  'https://adfs.acme.example/adfs/ls/?RelayState=',
  'https://cas.acme.example/cas/login?service=',
  'https://openam.acme.example/openam/UI/Login?goto=',
  'https://signin.ebay.com/ws/eBayISAPI.dll?SignIn&ru=',
  'https://acme.auth0.com/v2/logout?returnTo=',
  'https://portal.acme.example/Account/Login?ReturnUrl=',
  'https://forum.acme.example/session/sso_provider?return_sso_url=',
  'https://blog.acme.example/wp-login.php?redirect_to=',
  'https://www.linkedin.com/uas/login?session_redirect=',
  'https://acme.zendesk.com/access/login?return_to=',
  'https://acme.my.salesforce.com/secur/login?startURL=',
  'https://acme.okta.com/login/login.htm?fromURI=',
  'https://login.yahoo.com/?done=',
  'https://passport.yandex.ru/auth?retpath=',
  'https://www.instagram.com/accounts/login/?next=',
  'https://acme.auth.us-east-1.amazoncognito.com/logout?client_id=1&logout_uri=',
  'https://id.acme.example/login?dest=',
  'https://accounts.acme.example/oauth2/start?rd=',
  'https://app.acme.example/api?client_id=x&redirect_uri=',
  'https://accounts.acme.example/users/sign_in?user_return_to=',
  'https://forum.acme.example/ucp.php?mode=login&redirect=',
  'https://acme.my.salesforce.com/secur/frontdoor.jsp?sid=1&retURL=',
];

describe('A link that a log-in opens afterwards', () => {
  it('is read from the base64 of the parameter sso of Discourse', async () => {
    const check = await checkerOf([
      'BLOCKED URL evil.example',
      'ALLOWED URL forum.example',
      'ALLOWED URL good.example',
    ]);
    const link = (target: string): string => {
      const payload = Buffer.from(`nonce=1&return_sso_url=${encoded(target)}`).toString('base64');
      return `https://forum.example/session/sso_provider?sso=${encoded(payload)}&sig=1`;
    };
    expect(check(link('https://evil.example/cb')).status).toBe('BLOCKED');
    expect(check(link('https://unknown.example/cb')).status).toBe('UNKNOWN');
    expect(check(link('https://good.example/cb')).status).toBe('ALLOWED');
  });

  const VALUES = [
    encoded('https://evil.example/cb'),
    'https://evil.example',
    encoded('//evil.example/'),
    encoded(encoded('https://evil.example/cb')),
    encoded(`https://www.google.com/url?q=${encoded('https://evil.example/')}`),
  ];

  it.each(RETURNS)('blocks, and is needed for ALLOWED: %s', async (link) => {
    const { host } = new URL(link);
    const allowed: OwnStatus[] = [`ALLOWED URL ${host}`, 'ALLOWED URL good.example'];
    const check = await checkerOf(['BLOCKED URL evil.example', ...allowed]);
    for (const value of VALUES) expect([value, check(link + value).status]).toEqual([value, 'BLOCKED']);
    expect(check(`https://nam02.safelinks.protection.outlook.com/?url=${encoded(link + VALUES[0]!)}`).status).toBe(
      'BLOCKED',
    );
    expect(check(link + encoded('https://unknown.example/')).status).toBe('UNKNOWN');
    const shared = check(link).status;
    for (const own of [
      'https://good.example/cb',
      `https://${host}/x`,
      'http://localhost:8400/',
      'http://127.0.0.1:1/',
      'urn:ietf:wg:oauth:2.0:oob',
      'com.acme.app:/cb',
      'evil.example',
      '/evil.example',
    ])
      expect([own, check(link + encoded(own)).status]).toEqual([own, shared]);
  });

  it.each(RETURNS)('is not what a status of the link names: %s', (link) => {
    for (const type of ['URL', 'PAGE']) expect(assetKey({ type, content: link + VALUES[0]! })).not.toMatch(/^\w+:evil/);
  });

  it('is not read on other pages and in other parameters, so that it neither blocks nor is allowed', async () => {
    const check = await checkerOf(['BLOCKED URL evil.example', 'ALLOWED URL good.example']);
    expect(check('https://good.example/search?next=https://evil.example').status).toBe('UNKNOWN');
    expect(check('https://good.example/login?about=https://evil.example').status).toBe('UNKNOWN');
  });
});

describe('A long chain of log-ins', () => {
  it('is read up to a number of characters, then only by the hosts on the way and by the last link', async () => {
    const filling = 'a'.repeat(950);
    const chain = ['a', 'b', 'c', 'd'].reduceRight(
      (inner, name) => `https://${name}.example/login?pad=${filling}&next=${encoded(inner)}`,
      'https://evil.example/',
    );
    for (const host of ['a.example', 'd.example', 'evil.example'])
      expect((await checkerOf([`BLOCKED URL ${host}`]))(chain).status).toBe('BLOCKED');
    const pages = ['a', 'b', 'c', 'd'].map((name): OwnStatus => `ALLOWED URL ${name}.example`);
    expect((await checkerOf([...pages, 'ALLOWED URL evil.example']))(chain).status).toBe('UNKNOWN');
  });
});

describe('A request of OAuth on a path of another name', () => {
  it.each([
    'https://app.clickup.com/api?redirect_uri=https%3A%2F%2Fa.example&client_id=',
    'https://stackoverflow.com/oauth/dialog?redirect_uri=https%3A%2F%2Fa.example&client_id=',
    'https://open.feishu.cn/open-apis/authen/v1/index?redirect_uri=https%3A%2F%2Fa.example&app_id=',
    'https://pool.auth.us-east-1.amazoncognito.com/login?response_type=code&client_id=',
    'https://trello.com/1/authorize?expiration=1day&response_type=token&key=',
  ])('is named by its client: %s', async (link) => {
    const check = await checkerOf([`BLOCKED PAGE ${link}evil&state=1`]);
    expect(check(`${link}evil&state=2`).status).toBe('BLOCKED');
    expect(check(`${link}good&state=1`).status).not.toBe('BLOCKED');
  });
});

describe('A page that a parameter names', () => {
  it.each([
    ['https://marketplace.visualstudio.com/items?itemName=', 'evil.x', 'good.x'],
    ['https://detail.tmall.com/item.htm?id=', '111', '112'],
    ['https://forum.example/showthread.php?t=', '111', '112'],
    ['https://forum.example/forum/viewtopic.php?f=1&t=', '111', '112'],
    ['https://forum.example/index.php?topic=', '111.0', '112.0'],
    ['https://forum.example/showthread.php?tid=', '111', '112'],
    ['https://forum.example/showthread.php?', '111-a-title', '112-a-title'],
    ['https://forum.example/index.php?threads/', 'a-title.111/', 'a-title.112/'],
    ['https://forum.example/index.php?/topic/', '111-a-title/', '112-a-title/'],
    ['https://forum.example/modules.php?name=Forums&file=viewtopic&t=', '111', '112'],
    ['https://forum.example/read.php?', '1,111', '1,112'],
    ['https://forum.example/comments.php?DiscussionID=', '111', '112'],
    ['https://wiki.example/w/index.php?title=', 'A', 'B'],
    ['https://wiki.example/doku.php?id=', 'a', 'b'],
    ['https://blog.example/?p=', '111', '112'],
    ['https://bugs.example/show_bug.cgi?id=', '111', '112'],
    ['https://shop.example/product.php?id_product=', '111', '112'],
    ['https://us1.list-manage.com/track/click?u=1&id=', 'a', 'b'],
    ['https://www.amazon.com/gp/help/customer/display.html?nodeId=', 'A', 'B'],
    ['https://acme-my.sharepoint.com/personal/a/_layouts/15/guestaccess.aspx?share=', 'A', 'B'],
  ])('is another page with another value: %s', async (link, evil, good) => {
    const check = await checkerOf([`BLOCKED PAGE ${link}${evil}`]);
    expect(check(`${link}${evil}&utm_source=x&x=1`).status).toBe('BLOCKED');
    expect(check(link + good).status).toBe('UNKNOWN');
    expect(check(link.split('?', 1)[0]!).status).toBe('UNKNOWN');
    const listed = await checkerOf([], [{ text: `${link}${evil}\n` }]);
    expect(listed(link + evil).status).toBe('BLOCKED');
    expect(listed(link + good).status).toBe('UNKNOWN');
  });

  it('is blocked with a folder above it, with the page without parameters, and with its host', async () => {
    for (const status of ['PAGE forum.example/a', 'PAGE forum.example/a/showthread.php', 'URL forum.example'])
      expect(
        (await checkerOf([`BLOCKED ${status}` as OwnStatus]))('https://forum.example/a/showthread.php?t=1').status,
      ).toBe('BLOCKED');
  });
});

describe('A page that a parameter names, below a blocked folder', () => {
  const THREAD = 'https://forum.example/f/showthread.php?t=';

  it('inherits the status of the folder, and says so, unless the page has a status of its own', async () => {
    const own = ['BLOCKED PAGE forum.example/f', `ALLOWED PAGE ${THREAD}5`] as const;
    const check = await checkerOf(own);
    expect(check(`${THREAD}6`)).toMatchObject({ status: 'BLOCKED', reason: 'parent-domain' });
    expect(check(`${THREAD}5`)).toMatchObject({ status: 'ALLOWED' });
  });

  it('inherits it from a list, and says so', async () => {
    const listed = await checkerOf([], [{ text: 'forum.example/f\n' }]);
    expect(listed(`${THREAD}6`).sources[1]).toMatchObject({ status: 'BLOCKED', reason: 'parent-domain' });
  });
});

describe('A copy in an archive', () => {
  it.each([
    'https://web.archive.org/web/2026/',
    'https://web.archive.org/web/20260101000000if_/',
    'https://web.archive.org/save/',
    'https://archive.ph/2026.01.01-000000/',
    'https://archive.is/newest/',
  ])('is blocked with its page, and the archive allows nothing: %s', async (archive) => {
    const check = await checkerOf(['BLOCKED URL evil.example', 'ALLOWED URL archive.org', 'ALLOWED URL archive.ph']);
    expect(check(`${archive}https://evil.example/a`).status).toBe('BLOCKED');
    expect(check(`${archive}https://unknown.example/`).status).toBe('UNKNOWN');
  });
});
