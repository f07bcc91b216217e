/**
 * Links that carry links: mail gateways, redirects of platforms, translation and AMP hosts, and deep links of wallets
 * and browsers. Each line has hosts or app schemes, then forms. `*.HOST` stands for every host below HOST, and `www.`,
 * `m.` and `mobile.` before a host are ignored. `google.com` stands for Google in every country, and for its other hosts.
 *
 * A form has segments of a path and possibly a parameter, of the query or (after `#?`) of the fragment. `*` matches any
 * segment. A parameter without segments is read on any path, but a path other than the root may then name a page of the
 * carrier itself, so that the link is not understood. `...` before a parameter means that any path carries the link and
 * nothing else, as on a host all of whose links are redirects. A fragment may name a page in the same way, unless what
 * stands before its parameters is the route of a form (`#ROUTE?`). A word in braces marks the position of the carried
 * link and names its encoding:
 * - `{link}` percent-encoded or not; at the end of a path, the rest of the link
 * - `{segment}` up to the next slash, if slashes before it are percent-encoded; otherwise as `{link}`
 * - `{base64}` and `{a1base64}` (after two letters that mark the encoding) base64, also for URLs
 * - `{domain}` only the host of the target
 * - `{dashes}` Proofpoint version 2: `-` stands for `%`, and `_` for `/`
 * - `{underscores}` Proofpoint version 3 and Check Point: between underscores, with removed characters behind
 * - `{ru}` Yahoo: in a segment `RU=…`
 * - `{ethereum}` a payment request without `ethereum:`
 * - `{account}` an account or a payment request
 * - `{json}` any text that contains one link
 * - `{token}` base64 of a JSON object with the link in the field `e`, before a dot and a signature
 *
 * What follows ` // ` on a line is the product or the page that says so.
 */
export const CARRIERS = `
  safelinks.protection.outlook.com *.safelinks.protection.outlook.com *.safelinks.protection.office365.us *.safelinks.o365.us ...?url={link}
  statics.teams.cdn.office.net evergreen-assets/safelinks/1/atp-safelinks.html?url={link} evergreen-assets/safelinks/2/atp-safelinks.html?url={link}
  mcas-proxyweb.mcas.ms certificate-checker?originalurl={link} // Microsoft Defender for Cloud Apps
  teams.microsoft.com dl/launcher/launcher.html?url={link}
  urldefense.proofpoint.com urldefense.com urldefense.us v1/url?u={link} v2/url?u={dashes} v3/{underscores}
  *.mimecast.com *.mimecastprotect.com s/*?domain={domain} r/*?domain={domain}
  linkprotect.cudasvc.com *.linkprotect.cudasvc.com url?a={link} ...?a={link}
  scanmail.trustwave.com urlsand.esvalabs.com ...?u={link}
  safe.menlosecurity.com {link}
  *.fortimailcloud.com fmlurlsvc?url={link}
  outlook.office.com outlook.office365.com outlook.live.com owa/redir.aspx?url={link}
  deref-gmx.net deref-gmx.com deref-web.de deref-mail.com mail/client/dereferrer?redirecturl={link} mail/client/*/dereferrer?redirecturl={link}
  *.awstrack.me l0/{segment}
  click.pstmrk.it track.pstmrk.it 2s/{segment} 3s/{segment}
  mandrillapp.com track/click/*/{link} track/click.php?url={link}
  link.naver.com bridge?url={link}
  *.trendmicro.com wis/clicktime/v1/query?url={link}
  secure-web.cisco.com */{link}
  *.protection.sophos.com ...?u={base64}
  protect.checkpoint.com url.avanan.click *.avanan.click *.checkpoint.com v1/{underscores} v2/{underscores} v2/*/{underscores} v1/url?u={link} v2/url?u={link}
  protect.fireeye.com *.fireeye.com *.trellix.com url?u={link} v1/url?u={link}
  *.safelink.emails.azure.net redirect?destination={link}
  linklock.titanhq.com analyse?url={link}
  checkpoint.url-protection.com avanan.url-protection.com v1/url?o={link} // Check Point Harmony Email and Collaboration
  *.antiphishing.vadesecure.com antiphishing.vadesecure.com *?u={link} // Vade for Microsoft 365
  *.vadesecure.com safeproxy/*?u={link} // Vade for Microsoft 365
  link.zixcentral.com u/*/*?u={link} // OpenText Zix Link Protection
  urlisolation.com browser?url={link} // Proofpoint URL Isolation
  mailinblack.com *.mailinblack.com securelink?url={link} // Mailinblack Protect
  *.defend.egress.com warning?@originallink={domain} // Egress Defend
  link.edgepilot.com clicktime.symantec.com ...?u={link}
  link.getmailspring.com ...?redirect={link}
  mailtrack.io trace/link/*?url={link} ?url={link}
  clicktime.cloud.postoffice.net clicktime.php?u={link}
  lsems.gravityzone.bitdefender.com scan/{base64}
  *.inky.com link?domain={domain}
  google.com url?q={link} url?url={link} local_url?q={link} aclk?adurl={link} pagead/aclk?adurl={link} travel/clk?pcurl={link} imgres?imgrefurl={link} interstitial?url={link} translate?u={link} amp/s/{link} amp/{link}
  *.url.google.com meet.google.com hangouts.google.com url?q={link} linkredirect?dest={link}
  scholar.google.com scholar_url?url={link}
  googleweblight.com i?u={link} ...?lite_url={link}
  googleadservices.com pagead/aclk?adurl={link}
  *.doubleclick.net ddm/*/*?{link} pcs/click?adurl={link} aclk?adurl={link} pagead/aclk?adurl={link}
  translate.google.com translate.googleusercontent.com translate?u={link} translate_c?u={link} website?u={link}
  translate.yandex.com translate.yandex.ru translate?url={link}
  translated.turbopages.org proxy_u/*/https/{link} proxy_u/*/http/{link} // Yandex Translate
  translatetheweb.com microsofttranslator.com ?a={link} bv.aspx?a={link}
  papago.naver.net website?url={link}
  cdn.ampproject.org *.cdn.ampproject.org *.bing-amp.com c/s/{link} v/s/{link} a/s/{link} wp/s/{link} c/{link} v/{link}
  l.facebook.com lm.facebook.com l.messenger.com l.workplace.com l.php?u={link} l/*/{link}
  facebook.com l.php?u={link} flx/warn?u={link} confirmemail.php?next={link}
  l.instagram.com l.threads.com l.threads.net ...?u={link}
  instagram.com linkshim?u={link}
  l.wl.co l?u={link}
  go.bsky.app redirect?u={link}
  calendly.com url?q={link}
  links.rediff.com cgi-bin/red.cgi?red={link}
  public-api.wordpress.com bar?redirect_to={link}
  substack.com redirect/2/{token}
  view.officeapps.live.com op/view.aspx?src={link} op/embed.aspx?src={link}
  docs.google.com viewer?url={link} gview?url={link} viewerng/viewer?url={link}
  youtube.com music.youtube.com gaming.youtube.com redirect?q={link} attribution_link?u={link}
  linkedin.com *.linkedin.com redir/*?url={link} comm/redirect?url={link} redirect?url={link} safety/go?url={link}
  steamcommunity.com linkfilter?u={link} linkfilter?url={link} linkfilter/{link}
  steam: openurl/{link} openurl_external/{link}
  store.steampowered.com help.steampowered.com linkfilter?url={link} linkfilter?u={link}
  click.redditmail.com cl0/{segment}
  tiktok.com link/v2?target={link}
  out.reddit.com ...?url={link}
  vk.com vk.ru away.vk.com away.php?to={link} away?to={link}
  ok.ru connect.ok.ru dk?st.link={link} offer?url={link}
  slack-redir.net link?url={link}
  t.me telegram.me telegram.dog tg: iv?url={link}
  web.telegram.org #?tgaddr={link} #im?tgaddr={link} k#?tgaddr={link} a#?tgaddr={link} z#?tgaddr={link}
  x.com twitter.com i/redirect?url={link} safety/unsafe_link_warning?unsafe_link={link}
  pinterest.com *.pinterest.com pinterest.de pinterest.fr pinterest.es pinterest.it pinterest.pt pinterest.at pinterest.ch pinterest.se pinterest.dk pinterest.ie pinterest.ca pinterest.cl pinterest.nz pinterest.ph pinterest.jp pinterest.co.uk pinterest.co.kr pinterest.com.au pinterest.com.mx offsite?url={link}
  t.umblr.com redirect?z={link}
  href.li anonym.to anon.to nullrefer.com hidereferrer.com dereferer.me dereferer.org htmlpreview.github.io ?{link}
  deviantart.com users/outgoing?{link}
  medium.com r?url={link}
  quora.com _/redirect?url={link}
  disq.us url?url={link} ?url={link}
  exit.sc gate.sc ...?url={link}
  curseforge.com linkout?remoteurl={link}
  bing.com *.bing.com ck/a?u={a1base64} aclick?u={base64} newtabredir?url={link} alink/link?url={link} translator?url={link}
  duckduckgo.com html.duckduckgo.com lite.duckduckgo.com l?uddg={link}
  r.search.yahoo.com {ru}
  search.yahoo.com *.search.yahoo.com r/{ru}
  search.aol.com click/{ru}
  yandex.ru yandex.com yandex.by yandex.kz yandex.com.tr ya.ru clck/jsredir?url={link} redir?url={link} turbo?text={link}
  sba.yandex.net sba.yandex.com redirect?url={link}
  link.zhihu.com link.juejin.cn link.csdn.net link.segmentfault.com ...?target={link}
  gitee.com sspai.com leetcode.cn afdian.com afdian.net xie.infoq.cn canva.com link?target={link}
  hd.nowcoder.com link.html?target={link}
  yuque.com r/goto?url={link}
  oschina.net action/gotolink?url={link}
  game.bilibili.com linkfilter?url={link}
  tieba.baidu.com mo/q/checkurl?url={link}
  jump.bdimg.com safecheck/index?url={link}
  link.jianshu.com go-wild?url={link} ...?t={link}
  jianshu.com go-wild?url={link} ?t={link}
  weibo.cn weibo.com sinaurl?u={link} sinaurl?toasturl={link}
  t.cn ?url={link}
  c.pc.qq.com middlem.html?pfurl={link} middleb.html?pfurl={link} ios.html?url={link} android.html?url={link} pc.html?url={link}
  docs.qq.com scenario/link.html?url={link}
  mail.qq.com wx.mail.qq.com cgi-bin/mail_spam?url={link} xmspamcheck/xmsafejump?url={link}
  cr.naver.com rd?u={link} redirect-notification?u={link}
  click.mail.ru redir?u={link}
  bitly.com bit.ly a/warning?url={link}
  getpocket.com app.getpocket.com redirect?url={link}
  12ft.io r.jina.ai {link}
  web.archive.org web/*/{link} web/{link} save/{link}
  archive.org wayback/*/{link} wayback/available?url={link}
  archive.today archive.ph archive.is archive.li archive.fo archive.md archive.vn newest/{link} oldest/{link} timegate/{link} submit?url={link} */{link} {link}
  ghostarchive.org search?term={link} save/{link}
  timetravel.mementoweb.org list/*/{link} memento/*/{link}
  douban.com link2?url={link}
  outgoing.prod.webservices.mozgcp.net v1/*/{link}
  awin1.com click?u={link} cread.php?ued={link} cread.php?p={link}
  click.linksynergy.com deeplink?murl={link} link?murl={link} fs-bin/click?rd_parm1={link}
  go.skimresources.com redirect.viglink.com go.redirectingat.com ...?url={link} ...?u={link}
  anrdoezrs.net jdoqocy.com tkqlhce.com dpbolvw.net kqzyfj.com ...?url={link} links/*/type/dlg/{link}
  prf.hn click/*/{link}
  *.sjv.io *.pxf.io *.evyy.net *.7eer.net *.ojrq.net c/*/*/*?u={link}
  rover.ebay.com ...?mpre={link}
  s.click.aliexpress.com deep_link.htm?dl_target_url={link}
  ad.admitad.com ...?ulp={link}
  track.effiliation.com servlet/effi.redir?url={link}
  tc.tradetracker.net ...?u={link}
  *.everesttech.net ...?url={link}
  *.page.link *.app.goo.gl ?link={link} ?ofl={link} ?ifl={link} ?afl={link}
  *.app.link *.bnc.lt ?$fallback_url={link} ?$desktop_url={link} ?$ios_url={link} ?$android_url={link} ?$canonical_url={link}
  *.onelink.me ?af_dp={link} ?af_web_dp={link} ?af_ios_url={link} ?af_android_url={link} ?af_r={link}
  app.adjust.com ...?redirect={link} ...?fallback={link} ...?deep_link={link} ...?adj_fallback={link} ...?adj_redirect={link}
  *.adj.st *.go.link ?redirect={link} ?fallback={link} ?deep_link={link} ?adj_fallback={link} ?adj_redirect={link}
  shareasale.com r.cfm?urllink={link}
  clk.tradedoubler.com click?url={link}
  clickserve.dartsearch.net link/click?ds_dest_url={link}
  metamask.app.link metamask-alternate.app.link metamask.test-app.link link.metamask.io metamask: dapp/{link} send/{ethereum}
  metamask: browser/{link}
  dapp: {link}
  go.cb-w.com cbwallet: dapp?cb_url={link} dapp?url={link}
  wallet.coinbase.com base.app dapp?cb_url={link} dapp?url={link}
  phantom.app phantom.com ul/browse/{link} ul/v1/browse/{link} ul/browse?url={link} ul/v1/browse?url={link} ul/*?app_url={link} ul/*?redirect_link={link} ul/v1/*?app_url={link} ul/v1/*?redirect_link={link} // https://docs.phantom.com/phantom-deeplinks/provider-methods/connect.md
  phantom: browse/{link} v1/browse/{link} ul/browse/{link} ul/v1/browse/{link} browse?url={link} v1/browse?url={link}
  solflare.com backpack.app ul/v1/browse/{link} ul/v1/*?app_url={link} ul/v1/*?redirect_link={link} // https://docs.solflare.com/solflare/technical/deeplinks https://docs.backpack.app/deeplinks
  link.trustwallet.com trust: open_url?url={link} send?address={account}
  link.onchain.com open_url?url={link}
  okx: okex: wallet/dapp/url?dappurl={link} wallet/dapp/details?dappurl={link}
  okx.com www.okx.com web3.okx.com okex.com www.okex.com download?deeplink={link}
  rainbow: dapp?url={link} open?url={link}
  rnbwapp.com dapp?url={link} open?url={link}
  rainbow.me dapp?url={link}
  app.safe.global share/safe-app?appurl={link} apps/open?appurl={link} apps?appurl={link}
  gnosis-safe.io app/*/apps?appurl={link} app/share/safe-app?appurl={link}
  farcaster.xyz warpcast.com ~/mini-apps/launch?url={link} ~/frames/launch?url={link} ?launchframeurl={link}
  bkcode.vip bkapp.vip ?url={link}
  bitkeep: bitget: bkconnect?url={link}
  imtokenv2: navigate?url={link} navigate/dappview?url={link}
  keplrwallet: web-browser?url={link}
  deeplink.keplr.app web-browser?url={link}
  petra.app explore?link={link}
  aw.app {link}
  status-app: b/{link} browse/{link}
  fb: facewebmodal/f?href={link} webview?url={link}
  mqqapi: forward/url?url_prefix={base64}
  vscode: vscode-insiders: vscode.git/clone?url={link}
  tonhub.com transfer/{account}
  app.tonkeeper.com tonkeeper: transfer/{account} dapp/{link} ton-connect?r={json}
  tc: ...?r={json}
  tpoutside: tpdapp: open?params={json} open?param={json}
  zerion: browser?url={link}
  safepalwallet: dapp?url={link}
  ledgerlive: discover?url={link}
  dial.to ?action={link} developer?url={link}
  lnurlp: lnurlw: lnurlc: keyauth: {link}
  googlechrome: navigate?url={link} {link}
  googlechromes: braves: {link}
  brave: firefox: firefox-focus: firefox-klar: open-url?url={link}
  firefox-open-url: ...?url={link}
  microsoft-edge: microsoft-edge-http: microsoft-edge-https: {link}
  touch-http: touch-https: opera-http: opera-https: {link}
  yandexbrowser-open-url: ddgquicklink: {link}
  android-app: */https/{link} */http/{link}
  view-source: {link}
  read: *?url={link}
  x-github-client: openrepo/{link}
  git+https: git+http: git+ssh: {link}
`;

/**
 * Hosts of proxies whose subdomains name the host that is opened: `evil.example.mcas.ms`. The products are Microsoft
 * Defender for Cloud Apps (https://learn.microsoft.com/defender-cloud-apps/network-requirements) and the reverse proxy
 * of Netskope, as in public links to `aws.amazon.com.rproxy.goskope.com`.
 */
export const PROXIES = /^([^.]+\..+)\.(?:mcas\.ms|mcas-gov\.(?:us|ms)|rproxy\.goskope\.com)$/;

/** The domains of the proxies whose hosts name the hosts that they open. */
export const PROXY_DOMAINS = ['mcas.ms', 'mcas-gov.us', 'mcas-gov.ms', 'rproxy.goskope.com', 'translate.goog'];

/**
 * Parameters in which a page of a log-in names the link that the browser opens afterwards. `_`, `-`, `.` and letter case
 * of a name are ignored.
 */
export const RETURN_PARAMETER =
  /^(?:(?:post|on)?(?:app|auth|user|member|original|requested|log(?:in|out|on|off)|sign(?:in|out|on|off|up)|sso|saml|session|oauth|success|cancel|failure|error|from|final|default|client|service|site|page|target|web)?(?:redirect(?:ion)?|redir|return|returning|ret|callback|back|next|continue|cont|forward|fwd|goto|dest|destination|start|success|target|retpath|followup|service|origin|done|r[du]|rurl|cb)(?:after(?:login|logout|signin|signout))?(?:to|ur[il]|link|path|page|resource|location|host)?s?|openidreturnto|openidrealm|realm|relaystate|wreply|wtrealm|(?:log(?:in|out)|sign(?:in|out))ur[il]|from(?:ur[il])?|returnsso(?:url)?|returnssourl|surl|ref(?:errer)?ur[il]|acsurl|assertionconsumerserviceurl|initiateloginuri)$/;

/** Matches host and path of a page of a log-in, a consent or a log-out. */
export const LOGIN_PAGE =
  /auth|log-?_?(?:in|on|out|off)|sign-?_?(?:in|on|out|off|up)|sso|saml|openid|oidc|session|account|consent|connect|passport|identity|register|\bcas\b|\bidp?\b|\bap\b|adfs|wsfed|dialog|portal|frontdoor/i;

/** Matches a parameter that names such a page: `ucp.php?mode=login`, or that only a request of OAuth has. */
export const LOGIN_MODE =
  /[?&](?:client_?id|app_?id|response_type)=[^&]|[?&](?:mode|do|act|action|op|page|view|task|route)=[^&]{0,32}(?:log|sign)[_-]?(?:in|on|out|off)/i;
