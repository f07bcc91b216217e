/**
 * Links that carry links: mail gateways, redirects of platforms, translation and AMP hosts, and deep links of wallets
 * and browsers. Each line has hosts or app schemes, then forms. `*.HOST` stands for every host below HOST, and `www.`
 * and `m.` before a host are ignored. `google.com` stands for Google in every country.
 *
 * A form has segments of a path and possibly a parameter, of the query or (after `#?`) of the fragment. `*` matches any
 * segment. A word in braces marks the position of the carried link and names its encoding:
 * - `{link}` percent-encoded or not; at the end of a path, the rest of the link
 * - `{base64}` and `{a1base64}` (after two letters that mark the encoding) base64, also for URLs
 * - `{domain}` only the host of the target
 * - `{dashes}` Proofpoint version 2: `-` stands for `%`, and `_` for `/`
 * - `{underscores}` Proofpoint version 3 and Check Point: between underscores, with removed characters behind
 * - `{ru}` Yahoo: in a segment `RU=…`
 * - `{ethereum}` a payment request without `ethereum:`
 * - `{account}` an account or a payment request
 * - `{json}` any text that contains one link
 */
export const CARRIERS = `
  safelinks.protection.outlook.com *.safelinks.protection.outlook.com *.safelinks.protection.office365.us *.safelinks.o365.us ?url={link}
  statics.teams.cdn.office.net evergreen-assets/safelinks/1/atp-safelinks.html?url={link} evergreen-assets/safelinks/2/atp-safelinks.html?url={link}
  teams.microsoft.com dl/launcher/launcher.html?url={link}
  urldefense.proofpoint.com urldefense.com urldefense.us v1/url?u={link} v2/url?u={dashes} v3/{underscores}
  *.mimecast.com *.mimecastprotect.com s/*?domain={domain} r/*?domain={domain}
  linkprotect.cudasvc.com url?a={link}
  *.trendmicro.com wis/clicktime/v1/query?url={link}
  secure-web.cisco.com */{link}
  *.protection.sophos.com ?u={base64}
  protect.checkpoint.com url.avanan.click *.avanan.click *.checkpoint.com v1/{underscores} v2/{underscores} v2/*/{underscores} v1/url?u={link} v2/url?u={link}
  protect.fireeye.com *.fireeye.com *.trellix.com url?u={link} v1/url?u={link}
  clicktime.symantec.com ?u={link}
  clicktime.cloud.postoffice.net clicktime.php?u={link}
  lsems.gravityzone.bitdefender.com scan/{base64}
  *.inky.com link?domain={domain}
  google.com url?q={link} url?url={link} aclk?adurl={link} imgres?imgrefurl={link} interstitial?url={link} translate?u={link} amp/s/{link} amp/{link}
  *.url.google.com meet.google.com hangouts.google.com url?q={link} linkredirect?dest={link}
  scholar.google.com scholar_url?url={link}
  googleweblight.com i?u={link} ?lite_url={link}
  googleadservices.com pagead/aclk?adurl={link}
  *.doubleclick.net pcs/click?adurl={link} aclk?adurl={link} pagead/aclk?adurl={link}
  translate.google.com translate.googleusercontent.com translate?u={link} translate_c?u={link} website?u={link}
  translate.yandex.com translate.yandex.ru translate?url={link}
  translatetheweb.com microsofttranslator.com ?a={link} bv.aspx?a={link}
  papago.naver.net website?url={link}
  cdn.ampproject.org *.cdn.ampproject.org *.bing-amp.com c/s/{link} v/s/{link} a/s/{link} wp/s/{link} c/{link} v/{link}
  l.facebook.com lm.facebook.com l.messenger.com l.php?u={link} l/*/{link}
  facebook.com l.php?u={link} flx/warn?u={link} confirmemail.php?next={link}
  l.instagram.com l.threads.com l.threads.net ?u={link}
  l.wl.co l?u={link}
  youtube.com redirect?q={link} attribution_link?u={link}
  linkedin.com redir/redirect?url={link} redirect?url={link} safety/go?url={link}
  steamcommunity.com linkfilter?u={link} linkfilter?url={link} linkfilter/{link}
  store.steampowered.com linkfilter?url={link} linkfilter?u={link}
  out.reddit.com ?url={link} *?url={link}
  vk.com away.vk.com away.php?to={link}
  ok.ru connect.ok.ru dk?st.link={link} offer?url={link}
  slack-redir.net link?url={link}
  t.me telegram.me telegram.dog iv?url={link}
  web.telegram.org #?tgaddr={link} k#?tgaddr={link} a#?tgaddr={link} z#?tgaddr={link}
  x.com twitter.com i/redirect?url={link} safety/unsafe_link_warning?unsafe_link={link}
  pinterest.com offsite?url={link}
  t.umblr.com redirect?z={link}
  href.li anonym.to anon.to nullrefer.com hidereferrer.com dereferer.me dereferer.org ?{link}
  deviantart.com users/outgoing?{link}
  medium.com r?url={link}
  quora.com _/redirect?url={link}
  disq.us url?url={link} ?url={link}
  exit.sc gate.sc ?url={link}
  curseforge.com linkout?remoteurl={link}
  bing.com ck/a?u={a1base64}
  duckduckgo.com l?uddg={link}
  r.search.yahoo.com {ru}
  yandex.ru yandex.com clck/jsredir?url={link} redir?url={link}
  sba.yandex.net sba.yandex.com redirect?url={link}
  link.zhihu.com link.juejin.cn link.csdn.net link.segmentfault.com ?target={link}
  gitee.com link?target={link}
  link.jianshu.com go-wild?url={link} ?t={link}
  weibo.cn sinaurl?u={link} sinaurl?toasturl={link}
  t.cn ?url={link}
  c.pc.qq.com middlem.html?pfurl={link} middleb.html?pfurl={link}
  douban.com link2?url={link}
  outgoing.prod.webservices.mozgcp.net v1/*/{link}
  awin1.com click?u={link} cread.php?ued={link} cread.php?p={link}
  click.linksynergy.com deeplink?murl={link} fs-bin/click?rd_parm1={link}
  go.skimresources.com redirect.viglink.com go.redirectingat.com ?url={link} ?u={link}
  shareasale.com r.cfm?urllink={link}
  clk.tradedoubler.com click?url={link}
  clickserve.dartsearch.net link/click?ds_dest_url={link}
  metamask.app.link metamask-alternate.app.link metamask.test-app.link link.metamask.io metamask: dapp/{link} send/{ethereum}
  metamask: browser/{link}
  dapp: {link}
  go.cb-w.com cbwallet: dapp?cb_url={link} dapp?url={link}
  wallet.coinbase.com base.app dapp?cb_url={link} dapp?url={link}
  phantom.app phantom.com ul/browse/{link} ul/v1/browse/{link} ul/browse?url={link} ul/v1/browse?url={link}
  phantom: browse/{link} v1/browse/{link} ul/browse/{link} ul/v1/browse/{link} browse?url={link} v1/browse?url={link}
  solflare.com backpack.app ul/browse/{link} ul/v1/browse/{link}
  solflare: backpack: browse/{link} v1/browse/{link} ul/browse/{link} ul/v1/browse/{link}
  link.trustwallet.com trust: open_url?url={link} send?address={account}
  link.onchain.com open_url?url={link}
  okx: okex: wallet/dapp/url?dappurl={link} wallet/dapp/details?dappurl={link}
  okx.com www.okx.com web3.okx.com okex.com www.okex.com download?deeplink={link}
  rainbow: dapp?url={link} open?url={link}
  rnbwapp.com dapp?url={link} open?url={link}
  rainbow.me dapp?url={link}
  bkcode.vip ?url={link}
  bitkeep: bitget: bkconnect?url={link}
  imtokenv2: navigate?url={link} navigate/dappview?url={link}
  keplrwallet: web-browser?url={link}
  deeplink.keplr.app web-browser?url={link}
  petra.app explore?link={link}
  app.tonkeeper.com tonkeeper: dapp/{link} ton-connect?r={json}
  tc: ?r={json}
  tpoutside: tpdapp: open?params={json} open?param={json}
  zerion: browser?url={link}
  safepalwallet: dapp?url={link}
  ledgerlive: discover?url={link}
  dial.to ?action={link} developer?url={link}
  lnurlp: lnurlw: lnurlc: keyauth: {link}
  googlechrome: navigate?url={link} {link}
  googlechromes: braves: {link}
  brave: firefox: firefox-focus: firefox-klar: open-url?url={link}
  firefox-open-url: ?url={link}
  microsoft-edge: microsoft-edge-http: microsoft-edge-https: {link}
  touch-http: touch-https: opera-http: opera-https: {link}
  yandexbrowser-open-url: ddgquicklink: {link}
  android-app: */https/{link} */http/{link}
  x-github-client: openrepo/{link}
  git+https: git+http: git+ssh: {link}
`;
