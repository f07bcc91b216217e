/**
 * Hosts where many people publish under one name, so that each page is an asset of its own, and what names a page
 * there. Hosts with a subdomain per person (`NAME.github.io`) are in the hosting suffixes instead.
 *
 * A row has a host, its aliases (`=ALIAS`), its marks and its patterns. The subdomains `www.`, `m.` and `mobile.` of a
 * host are aliases too. Marks:
 * - `:any-case` letter case does not distinguish pages.
 * - `:fragment` any fragment names a page. Without this mark, only a fragment that looks like a route does.
 * - `:locales` subdomains of a language or country are aliases (`de.`, `pt-br.`).
 * - `:own` only a page that a pattern names is published by others. Any other page belongs to the host, also one that
 *   parameters or a route of its root name.
 * - `:tenants` subdomains belong to different people, so that only `www.` is an alias.
 *
 * A pattern has segments of a path and parameters. `{}` is a part of the name, `*` is any segment that is not, any other
 * text must be equal, in any letter case. `{any-case}` is a part whose letter case does not count, except the `-` before
 * the command of an app link (`tg://user`), `{hex}` a part that is hexadecimal, `*-{hex}` such a part after the last
 * dash, `{...}` the rest of the path, and `#{}` at the end the fragment, which the link must have. More segments and
 * parameters may follow and are not part of the name, but a pattern without segments matches only the root. The text
 * after `>` is the name, if it differs from the pattern; it begins with `//` and a host if another host shows the page.
 * The first pattern that matches names the page. Without one, the path, the parameters except known tracking parameters,
 * and a fragment that looks like a route name the page.
 *
 * The hosts are taken from entries with a path in the lists of MetaMask/eth-phishing-detect and polkadot-js/phishing, and
 * from the documentation of the providers.
 */
export const PUBLISHING_HOSTS = `
x.com =twitter.com =nitter.net =fxtwitter.com =vxtwitter.com =fixupx.com =fixvx.com =xcancel.com */status/{}>i/status/{} */statuses/{}>i/status/{} i/status/{} i/web/status/{}>i/status/{} i/spaces/{} i/lists/{} i/communities/{} i/events/{} i/broadcasts/{}
facebook.com =fb.com :locales permalink.php?story_fbid={}&id={} story.php?story_fbid={}&id={}>permalink.php?story_fbid={}&id={} groups/*/posts/{}>groups/0/posts/{} groups/*/permalink/{}>groups/0/posts/{} */posts/{}>posts/{} photo.php?fbid={} photo?fbid={}>photo.php?fbid={} */photos/*/{}>photo.php?fbid={} */photos/{}>photo.php?fbid={} watch?v={} watch/live?v={}>watch?v={} video.php?v={}>watch?v={} */videos/*/{}>watch?v={} */videos/{}>watch?v={} reel/{} events/s/*/{}>events/{} events/{} marketplace/item/{} share/p/{} share/v/{} share/r/{} share/g/{} share/s/{} share/{} media/set?set={} notes/*/*/{}>notes/{}
fb.watch fb.me m.me messenger.com
instagram.com =instagr.am */p/{}>p/{} */reel/{}>p/{} */reels/{}>p/{} */tv/{}>p/{} p/{} reel/{}>p/{} reels/audio/{} reels/{}>p/{} tv/{}>p/{} stories/highlights/{}
youtube.com =youtube-nocookie.com =yewtu.be =piped.video :locales watch?v={} watch/{}>watch?v={} channel/*/community?lb={}>post/{} */community?lb={}>post/{} shorts/{}>watch?v={} live/{}>watch?v={} embed/videoseries?list={}>playlist?list={} embed/live_stream?channel={} embed/{}>watch?v={} v/{}>watch?v={} e/{}>watch?v={} playlist?list={} post/{} clip/{}
youtu.be {}>//youtube.com/watch?v={}
tiktok.com */video/{}>video/{} */photo/{}>video/{} video/{} embed/v2/{}>video/{} player/v1/{}>video/{} embed/{}>video/{} t/{}
vm.tiktok.com vt.tiktok.com
reddit.com :locales r/*/comments/{}>comments/{} user/*/comments/{}>comments/{} u/*/comments/{}>comments/{} comments/{} gallery/{}>comments/{} video/{}>comments/{} r/*/s/{}>s/{}
redd.it {}>//reddit.com/comments/{}
threads.net =threads.com */post/{}>t/{} t/{}
linkedin.com :locales posts/{} feed/update/{} pulse/{} jobs/view/*-{hex}>jobs/view/{} jobs/view/{} jobs/search?currentJobId={}>jobs/view/{} jobs/collections/*?currentJobId={}>jobs/view/{} events/{}
t.me =telegram.me =telegram.dog s/{any-case}/{}>{}/{} -/resolve?domain={any-case}&post={}>{}/{} -/resolve?domain={any-case}&appname={}>{}/{} -/privatepost?channel={}&post={}>c/{}/{} -/addlist?slug={}>addlist/{} -/addstickers?set={}>addstickers/{} share/url?url={} share?url={}>share/url?url={} {any-case}/{...}
web.telegram.org :fragment
bsky.app profile/{any-case}/app.bsky.feed.post/{}>profile/{}/post/{} profile/{any-case}/{...}>profile/{}/{}
warpcast.com =farcaster.xyz ~/conversations/{hex} */{hex}>~/conversations/{}
medium.com p/{} */*-{hex}>p/{} */*/*-{hex}>p/{}
github.com =github.dev :any-case
gist.github.com gist.githubusercontent.com raw.githubusercontent.com codeload.github.com
discord.com =discordapp.com channels/{}/{}/{} -/channels/{}/{}/{}>channels/{}/{}/{}
opensea.io item/{}/{hex}/{} assets/{}/{hex}/{}>item/{}/{}/{} */item/{}/{hex}/{}>item/{}/{}/{} */assets/{}/{hex}/{}>item/{}/{}/{} assets/{hex}/{}>item/ethereum/{}/{} */assets/{hex}/{}>item/ethereum/{}/{} item/{}/{}/{} assets/{}/{}/{}>item/{}/{}/{} */item/{}/{}/{}>item/{}/{}/{} */assets/{}/{}/{}>item/{}/{}/{}
play.google.com =market.android.com store/apps/details?id={} details?id={}>store/apps/details?id={} apps/testing/{}>store/apps/details?id={} store/books/details?id={} store/movies/details?id={}
apps.apple.com =itunes.apple.com */app/*/{}>app/{} app/*/{}>app/{} */app/{}>app/{} app/{} lookup?id={}>app/id{}
sites.google.com u/*/{...}>{...}
docs.google.com document/u/*/d/e/{}>document/d/e/{} spreadsheets/u/*/d/e/{}>spreadsheets/d/e/{} presentation/u/*/d/e/{}>presentation/d/e/{} document/u/*/d/{}>document/d/{} spreadsheets/u/*/d/{}>spreadsheets/d/{} presentation/u/*/d/{}>presentation/d/{} forms/u/*/d/e/{}>forms/d/e/{} forms/u/*/d/{}>forms/d/{} file/u/*/d/{}>//drive.google.com/file/d/{} drawings/u/*/d/e/{}>drawings/d/e/{} drawings/u/*/d/{}>drawings/d/{} a/*/forms/d/e/{}>forms/d/e/{} a/*/forms/d/{}>forms/d/{} a/*/document/d/e/{}>document/d/e/{} a/*/document/d/{}>document/d/{} a/*/spreadsheets/d/e/{}>spreadsheets/d/e/{} a/*/spreadsheets/d/{}>spreadsheets/d/{} a/*/presentation/d/e/{}>presentation/d/e/{} a/*/presentation/d/{}>presentation/d/{} document/d/e/{} document/d/{} spreadsheets/d/e/{} spreadsheets/d/{} presentation/d/e/{} presentation/d/{} forms/d/e/{} forms/d/{} drawings/d/e/{} drawings/d/{} file/d/{}>//drive.google.com/file/d/{} open?id={}>//drive.google.com/file/d/{} uc?id={}>//drive.google.com/file/d/{}
drive.google.com open?id={}>file/d/{} uc?id={}>file/d/{} thumbnail?id={}>file/d/{} a/*/file/d/{}>file/d/{} embeddedfolderview?id={}>drive/folders/{} file/d/{} file/u/*/d/{}>file/d/{} drive/folders/{} drive/u/*/folders/{}>drive/folders/{} folderview?id={}>drive/folders/{} drive/u/*/mobile/folders/{}>drive/folders/{} drive/mobile/folders/{}>drive/folders/{}
drive.usercontent.google.com download?id={}>//drive.google.com/file/d/{} uc?id={}>//drive.google.com/file/d/{}
script.google.com macros/s/{} macros/u/*/s/{}>macros/s/{} a/macros/*/s/{}>macros/s/{}
colab.research.google.com drive/{}
groups.google.com g/{}/c/{} g/{} d/msg/{} d/topic/{} d/forum/{}
forms.gle goo.gl maps.app.goo.gl g.co storage.googleapis.com storage.cloud.google.com firebasestorage.googleapis.com
calendar.google.com calendar/embed?src={} calendar/appointments/schedules/{} calendar/event?eid={}
photos.google.com share/{} photos.app.goo.gl
lookerstudio.google.com =datastudio.google.com reporting/{} u/*/reporting/{}>reporting/{}
telegra.ph =graph.org =te.legra.ph teletype.in
linktr.ee :any-case
beacons.ai :any-case
bio.link bio.site linkin.bio lnk.bio campsite.bio taplink.cc msha.ke flow.page solo.to allmylinks.com about.me bento.me hoo.be stan.store linkpop.com :any-case
carrd.co :tenants
notion.so */*-{hex}>{} */{hex}>{} *-{hex}>{} {hex}
coda.io hackmd.io rentry.co justpaste.it write.as paste.ee dpaste.com hastebin.com controlc.com
pastebin.com raw/{}>{} dl/{}>{} print/{}>{} embed/{}>{} embed.php?i={}>{} raw.php?i={}>{}
gitlab.com :any-case
bitbucket.org :any-case
codepen.io cdpn.io jsfiddle.net fiddle.jshell.net jsbin.com output.jsbin.com plnkr.co replit.com stackblitz.com
codesandbox.io embed/github/{...}>s/github/{...} embed/{}>s/{}
glitch.com observablehq.com rpubs.com huggingface.co kaggle.com
mirror.xyz paragraph.xyz paragraph.com substack.com tumblr.com :tenants
steemit.com hive.blog publish0x.com
bit.ly tinyurl.com t.co is.gd v.gd rb.gy cutt.ly goo.su shorturl.at ow.ly rebrand.ly s.id t.ly tiny.cc buff.ly
lnkd.in dub.sh qrco.de me-qr.com urlz.fr n9.cl u.to clck.ru
r20.rs6.net sendgrid.net mailchi.mp eepurl.com conta.cc hubs.ly hubs.la
baidu.com :own link?url={}
ipfs.io dweb.link cloudflare-ipfs.com cf-ipfs.com gateway.pinata.cloud nftstorage.link w3s.link 4everland.io :tenants
gateway.ipfs.io ipfs.fleek.co ipfs.infura.io infura-ipfs.io gateway.lighthouse.storage ipfs.filebase.io :tenants
trustless-gateway.link ipfs.thirdwebcdn.com crustipfs.xyz ipfs.4everland.io ipfs.cf-ipfs.com :tenants
arweave.net ar-io.net ar-io.dev arweave.dev arweave.developerdao.com g8way.io permagate.io ardrive.net :tenants
turbo-gateway.com uploader.irys.xyz gateway.irys.xyz node1.irys.xyz node2.irys.xyz devnet.irys.xyz link.storjshare.io
s3.amazonaws.com s3.us-east-1.amazonaws.com s3.us-east-2.amazonaws.com s3.us-west-1.amazonaws.com :tenants
s3.us-west-2.amazonaws.com s3.ca-central-1.amazonaws.com s3.sa-east-1.amazonaws.com s3.eu-central-1.amazonaws.com :tenants
s3.eu-north-1.amazonaws.com s3.eu-west-1.amazonaws.com s3.eu-west-2.amazonaws.com s3.eu-west-3.amazonaws.com :tenants
s3.ap-south-1.amazonaws.com s3.ap-northeast-1.amazonaws.com s3.ap-southeast-1.amazonaws.com :tenants
s3.ap-southeast-2.amazonaws.com :tenants
forms.office.com =forms.cloud.microsoft =forms.microsoft.com pages/responsepage.aspx?id={} pages/designpagev2.aspx?id={}>pages/responsepage.aspx?id={} r/{} e/{} pages/shareformpage.aspx?id={}>pages/responsepage.aspx?id={}
sway.office.com =sway.cloud.microsoft =sway.com
1drv.ms
onedrive.live.com redir?resid={} embed?resid={}>redir?resid={} download?resid={}>redir?resid={} view.aspx?resid={}>redir?resid={} edit.aspx?resid={}>redir?resid={} view?resid={}>redir?resid={} edit?resid={}>redir?resid={} ?id={}
customervoice.microsoft.com pages/responsepage.aspx?id={}
dropbox.com s/dl/{}>s/{} s/raw/{}>s/{} s/{} scl/fi/{} scl/fo/{} sh/{} t/{} l/scl/{} request/{}
dl.dropboxusercontent.com =dl.dropbox.com s/{}>//dropbox.com/s/{} scl/fi/{}>//dropbox.com/scl/fi/{} scl/fo/{}>//dropbox.com/scl/fo/{}
app.box.com box.com
mega.nz =mega.co.nz =mega.io :fragment file/{} folder/{} embed/{}>file/{}
mediafire.com file/{} folder/{} view/{}>file/{} download/{}>file/{}
wetransfer.com we.tl gofile.io
figma.com file/{} design/{}>file/{} proto/{} board/{} slides/{} deck/{} community/file/{}
canva.com design/{}
miro.com app/board/{} app/live-embed/{}>app/board/{}
padlet.com docsend.com scribd.com issuu.com slideshare.net prezi.com view.genial.ly :locales
trello.com b/{} c/{}
airtable.com embed/{}>{}
app.smartsheet.com form.asana.com forms.monday.com forms.clickup.com
form.jotform.com =jotform.com =www.jotform.com =eu.jotform.com form/{}>{}
typeform.com form.typeform.com tally.so forms.fillout.com cognitoforms.com :tenants
surveymonkey.com :locales r/preview?sm={} r/{}
forms.zohopublic.com mailchi.mp payhip.com whop.com
zealy.io galxe.com app.galxe.com
pinterest.com =pinterest.de =pinterest.fr =pinterest.es =pinterest.it =pinterest.pt =pinterest.at =pinterest.ch =pinterest.se =pinterest.dk =pinterest.ie =pinterest.ca =pinterest.cl =pinterest.nz =pinterest.ph =pinterest.jp =pinterest.co.uk =pinterest.co.kr =pinterest.com.au =pinterest.com.mx :locales pin/create/*?url={}>pin/create/button?url={} pin/{}
vk.com =vk.ru :any-case
ok.ru quora.com patreon.com
gitbook.com app.gitbook.com change.org gofundme.com
snapshot.org snapshot.box :fragment
etherscan.io bscscan.com polygonscan.com solscan.io dexscreener.com :any-case
matrix.to signal.me signal.group app.element.io :fragment
vimeo.com video/{}>{}
player.vimeo.com video/{}>//vimeo.com/{}
dailymotion.com video/{} embed/video/{}>video/{}
dai.ly {}>//dailymotion.com/video/{}
twitch.tv */clip/{}>//clips.twitch.tv/{}
clips.twitch.tv
open.spotify.com */track/{}>track/{} */album/{}>album/{} */playlist/{}>playlist/{} */artist/{}>artist/{} */show/{}>show/{} */episode/{}>episode/{}
soundcloud.com kick.com rumble.com odysee.com bitchute.com
bilibili.com video/{}
b23.tv {}>//bilibili.com/video/{}
blog.naver.com postview.naver?blogId={}&logNo={}>{}/{} postview.nhn?blogId={}&logNo={}>{}/{}
line.me r/ti/{}/{}>ti/{}/{}
disk.yandex.ru =disk.yandex.com =yadi.sk
pan.baidu.com share/init?surl={}>s/1{}
mp.weixin.qq.com s?__biz={}&mid={}&idx={}
news.ycombinator.com bitcointalk.org
addons.mozilla.org */*/addon/{}>addon/{} */addon/{}>addon/{}
cdn.discordapp.com =media.discordapp.net attachments/{}/{}/{}
chat.whatsapp.com invite/{}>{}
api.whatsapp.com chat?code={}>//chat.whatsapp.com/{}
steamcommunity.com :own :any-case sharedfiles/filedetails?id={} workshop/filedetails?id={}>sharedfiles/filedetails?id={} id/{} profiles/{} groups/{}
google.com :own maps/d/viewer?mid={} maps/d/u/*/viewer?mid={}>maps/d/viewer?mid={} maps/d/edit?mid={}>maps/d/viewer?mid={} maps?cid={} maps/place/{}
paypal.com :own invoice/p#{} donate?hosted_button_id={} cgi-bin/webscr?hosted_button_id={}>donate?hosted_button_id={} donate?business={} donate?campaign_id={} paypalme/{}
paypal.me :any-case {}>//paypal.com/paypalme/{}
app.powerbi.com :own view?r={}
zoom.us =us02web.zoom.us =us04web.zoom.us =us05web.zoom.us =us06web.zoom.us :own j/{} w/{}>j/{} s/{}>j/{}
app.uniswap.org pancakeswap.finance :own swap?outputCurrency={}
raydium.io :own swap?outputMint={}
maps.google.com tronscan.org app.1inch.io app.safe.global appgallery.huawei.com :own
remix.ethereum.org excalidraw.com send.bitwarden.com cryptpad.fr :fragment
eventbrite.com =eventbrite.de =eventbrite.co.uk =eventbrite.fr =eventbrite.es =eventbrite.it =eventbrite.ca =eventbrite.com.au =eventbrite.nl =eventbrite.ie e/{}
meetup.com calendly.com ko-fi.com buymeacoffee.com gumroad.com opencollective.com
chatgpt.com =chat.openai.com
wakelet.com evernote.com
marketplace.visualstudio.com :own items?itemName={} itemdetails?itemName={}>items?itemName={}
login.microsoftonline.com login.microsoftonline.us login.microsoftonline.de login.partner.microsoftonline.cn login.microsoft.com login.windows.net login.live.com account.live.com :own
accounts.google.com appleid.apple.com idmsa.apple.com account.apple.com login.yahoo.com api.login.yahoo.com oauth.yandex.ru oauth.yandex.com passport.yandex.ru passport.yandex.com :own
id.twitch.tv accounts.spotify.com accounts.shopify.com auth.atlassian.com id.atlassian.com login.okta.com login.salesforce.com account.box.com api.notion.com account.docusign.com appcenter.intuit.com connect.stripe.com accounts.zoho.com auth.openai.com oauth.telegram.org :own
oauth.vk.com id.vk.com kauth.kakao.com access.line.me nid.naver.com open.weixin.qq.com graph.qq.com openapi.baidu.com :own
detail.tmall.com =detail.m.tmall.com =detail.tmall.hk :own item.htm?id={}
item.taobao.com :own item.htm?id={}
`;

/**
 * Pages that a parameter names on any host: the last segment of the path, and the parameter. Such a page belongs to the
 * host, as a path does. The first parameter that a link has names the page.
 */
export const NAMING_PARAMETERS =
  'showthread.php?t={} showthread.php?tid={} showthread.php?p={} showpost.php?p={} forumdisplay.php?f={} forumdisplay.php?fid={} viewtopic.php?t={} viewtopic.php?id={} viewtopic.php?p={} viewforum.php?f={} viewforum.php?id={} viewthread.php?tid={} forum.php?tid={} thread.php?id={} topic.php?id={} member.php?u={} member.php?uid={} memberlist.php?u={} profile.php?id={} profile.php?u={} index.php?topic={} index.php?showtopic={} index.php?showuser={} index.php?title={} item.htm?id={} display.html?nodeId={} guestaccess.aspx?share={} guestaccess.aspx?guestaccesstoken={} guestaccess.aspx?docid={} click?u={}&id={} click?upn={} subscribe?u={}&id={} unsubscribe?u={}&id={} items?itemName={} details?id={} item?id={} modules.php?name={}&t={} modules.php?name={}&sid={} yabb.pl?num={} index.php?option={}&id={} index.php?product_id={} index.php?page_id={} product.php?id_product={} product.php?id={} comments.php?DiscussionID={} topic.asp?TOPIC_ID={} default.aspx?g={}&t={} doku.php?id={} viewpage.action?pageId={} discuss.php?d={} show_bug.cgi?id={} bug.php?id={} opac-detail.pl?biblionumber={} bbs.cgi?no={} listing?listing_id={} article.php?id={} newsitem.php?id={} ?p={} ?page_id={} ?attachment_id={} ?qs={}';

/** The parameters that name the client of a request of OAuth 1.0, OAuth 2.0 or OpenID Connect, the most usual one first. */
export const CLIENT_PARAMETERS =
  'client_id clientid client_key app_id appid bot_id consumer_key oauth_consumer_key oauth_token key';

/** Matches a parameter of such a request. A link that has it and names a client is a request, whatever its path. */
export const REQUEST_PARAMETER = /[?&](?:redirect_?ur[il]|response_type)=/i;

/**
 * Matches the end of a link to a program whose whole query names the page: `showthread.php?1-title`,
 * `index.php?threads/title.1/`.
 */
export const NAMING_QUERY =
  /^(?:(?:showthread|showpost|thread|read)\.php\?[^=&#]+|index\.php\?\/?[a-z]{3,32}\/[^=&#]+)(?![^&#])/i;

/** Matches the end of the normalized path of such a request. */
export const REQUEST_PATH =
  /\/(?:[\w-]{0,32}(?:authori[sz](?:e|ation)|oauth\d{0,2}|consent)[\w-]{0,32}|(?:[\w-]{0,32}[_-])?auth|oa|connect|qrconnect)(?:\.[\w.]{1,16})?(?:\/new|\/v?\d[\w.]{0,8})?$/i;

/**
 * Parameters that tell where a visitor came from or which language a page has, and never which page is shown. `*`
 * stands for any end of the name.
 */
export const TRACKING_PARAMETERS =
  'utm_* mtm_* pk_* piwik_* matomo_* hsa_* fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid ymclid twclid ttclid li_fat_id igsh igshid mc_cid mc_eid mkt_tok _ga _gl _hsenc _hsmi __hstc __hssc __hsfp vero_id vero_conv wickedid oly_anon_id oly_enc_id rb_clickid s_cid ml_subscriber ml_subscriber_hash _openstat ref_src ref_url cmpid ncid epik srsltid usp pvs hl gl lang locale authuser __twitter_impression';
