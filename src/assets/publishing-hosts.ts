const namesIn = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/**
 * Hosts where many people publish under paths, so that each page is a separate asset. Hosts with a subdomain per person
 * (`NAME.github.io`) are in the hosting suffixes instead. The hosts are taken from entries with a path in the lists of
 * MetaMask/eth-phishing-detect and polkadot-js/phishing, and from the documentation of the providers.
 */
const HOSTS = namesIn(`
  sites.google.com docs.google.com drive.google.com forms.gle script.google.com storage.googleapis.com
  storage.cloud.google.com firebasestorage.googleapis.com colab.research.google.com groups.google.com
  telegra.ph graph.org te.legra.ph teletype.in linktr.ee beacons.ai bio.link bio.site linkin.bio lnk.bio carrd.co
  campsite.bio taplink.cc msha.ke flow.page solo.to allmylinks.com about.me bento.me hoo.be stan.store linkpop.com
  notion.so coda.io pastebin.com hackmd.io rentry.co justpaste.it write.as paste.ee dpaste.com hastebin.com controlc.com
  gist.github.com gist.githubusercontent.com raw.githubusercontent.com gitlab.com bitbucket.org
  codepen.io cdpn.io jsfiddle.net fiddle.jshell.net jsbin.com output.jsbin.com plnkr.co replit.com stackblitz.com
  codesandbox.io glitch.com observablehq.com rpubs.com huggingface.co kaggle.com
  medium.com mirror.xyz paragraph.xyz paragraph.com substack.com tumblr.com steemit.com hive.blog publish0x.com
  bit.ly tinyurl.com t.co is.gd v.gd rb.gy cutt.ly goo.su shorturl.at ow.ly rebrand.ly s.id t.ly tiny.cc goo.gl buff.ly
  lnkd.in dub.sh qrco.de me-qr.com urlz.fr n9.cl u.to clck.ru
  ipfs.io dweb.link cloudflare-ipfs.com cf-ipfs.com gateway.pinata.cloud nftstorage.link w3s.link 4everland.io
  gateway.ipfs.io ipfs.fleek.co ipfs.infura.io infura-ipfs.io gateway.lighthouse.storage ipfs.filebase.io
  trustless-gateway.link ipfs.thirdwebcdn.com crustipfs.xyz ipfs.4everland.io ipfs.cf-ipfs.com
  arweave.net ar-io.net ar-io.dev arweave.dev arweave.developerdao.com g8way.io permagate.io ardrive.net turbo-gateway.com
  uploader.irys.xyz gateway.irys.xyz node1.irys.xyz node2.irys.xyz devnet.irys.xyz link.storjshare.io
  s3.amazonaws.com s3.us-east-1.amazonaws.com s3.us-east-2.amazonaws.com s3.us-west-1.amazonaws.com
  s3.us-west-2.amazonaws.com s3.ca-central-1.amazonaws.com s3.sa-east-1.amazonaws.com s3.eu-central-1.amazonaws.com
  s3.eu-north-1.amazonaws.com s3.eu-west-1.amazonaws.com s3.eu-west-2.amazonaws.com s3.eu-west-3.amazonaws.com
  s3.ap-south-1.amazonaws.com s3.ap-northeast-1.amazonaws.com s3.ap-southeast-1.amazonaws.com
  s3.ap-southeast-2.amazonaws.com
  forms.office.com forms.cloud.microsoft sway.office.com sway.cloud.microsoft 1drv.ms onedrive.live.com
  dropbox.com dl.dropboxusercontent.com app.box.com mega.nz mediafire.com wetransfer.com we.tl gofile.io
  figma.com canva.com miro.com padlet.com docsend.com scribd.com issuu.com slideshare.net prezi.com view.genial.ly
  trello.com airtable.com app.smartsheet.com form.asana.com forms.monday.com forms.clickup.com
  jotform.com form.jotform.com typeform.com form.typeform.com tally.so forms.fillout.com cognitoforms.com
  surveymonkey.com forms.zohopublic.com mailchi.mp payhip.com whop.com
  zealy.io galxe.com app.galxe.com
  discord.com pinterest.com vk.com m.vk.com ok.ru quora.com patreon.com
  gitbook.com app.gitbook.com change.org gofundme.com
  snapshot.org snapshot.box etherscan.io bscscan.com polygonscan.com solscan.io dexscreener.com
`);

/** Whether many people publish pages on the host; a leading `www.` is ignored. */
export const hostsUserPages = (host: string): boolean => HOSTS.has(host.startsWith('www.') ? host.slice(4) : host);

/** Hosts where anybody can have a mailbox, so that the status of the host does not apply to a mailbox. */
const MAIL_HOSTS = namesIn(`
  gmail.com googlemail.com outlook.com hotmail.com hotmail.co.uk hotmail.fr hotmail.de live.com msn.com yahoo.com
  yahoo.co.uk yahoo.co.jp yahoo.fr yahoo.de ymail.com rocketmail.com aol.com icloud.com me.com mac.com proton.me
  protonmail.com pm.me tutanota.com tutamail.com tuta.io zoho.com zohomail.com fastmail.com hey.com mail.com gmx.com
  gmx.de gmx.net web.de t-online.de freenet.de yandex.com yandex.ru mail.ru bk.ru inbox.ru list.ru rambler.ru
  qq.com foxmail.com 163.com 126.com sina.com naver.com daum.net hanmail.net rediffmail.com orange.fr laposte.net
  free.fr libero.it seznam.cz wp.pl o2.pl onet.pl uol.com.br bol.com.br terra.com.br comcast.net verizon.net att.net
  mailinator.com guerrillamail.com temp-mail.org yopmail.com
`);

export const hostsMailboxes = (host: string): boolean => MAIL_HOSTS.has(host);
