const namesIn = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/**
 * Hosts where many people publish under paths, so that each page is an asset of its own. Hosts with a subdomain per
 * person (`NAME.github.io`) are hosting suffixes instead.
 */
const HOSTS = namesIn(`
  sites.google.com docs.google.com drive.google.com forms.gle script.google.com storage.googleapis.com
  telegra.ph graph.org te.legra.ph linktr.ee beacons.ai bio.link linkin.bio carrd.co
  notion.so www.notion.so coda.io pastebin.com hackmd.io rentry.co justpaste.it write.as
  gist.github.com gist.githubusercontent.com raw.githubusercontent.com gitlab.com bitbucket.org codepen.io jsfiddle.net
  medium.com mirror.xyz paragraph.xyz substack.com tumblr.com steemit.com hive.blog publish0x.com
  bit.ly tinyurl.com t.co is.gd rb.gy cutt.ly goo.su shorturl.at ow.ly rebrand.ly s.id
  ipfs.io dweb.link cloudflare-ipfs.com gateway.pinata.cloud nftstorage.link w3s.link 4everland.io gateway.ipfs.io
  arweave.net s3.amazonaws.com forms.office.com 1drv.ms dropbox.com www.dropbox.com figma.com www.figma.com
  canva.com www.canva.com jotform.com form.jotform.com typeform.com zealy.io galxe.com app.galxe.com
  discord.com pinterest.com www.pinterest.com vk.com m.vk.com ok.ru quora.com www.quora.com patreon.com www.patreon.com
  gitbook.com app.gitbook.com change.org www.change.org gofundme.com www.gofundme.com
  snapshot.org snapshot.box etherscan.io bscscan.com polygonscan.com solscan.io dexscreener.com
`);

export const hostsUserPages = (host: string): boolean => HOSTS.has(host);

/** Hosts where anybody can have a mailbox, so that their verdict says nothing about a mailbox. */
const MAIL_HOSTS = namesIn(`
  gmail.com googlemail.com outlook.com hotmail.com hotmail.co.uk hotmail.fr hotmail.de live.com msn.com yahoo.com
  yahoo.co.uk yahoo.co.jp yahoo.fr yahoo.de ymail.com rocketmail.com aol.com icloud.com me.com mac.com proton.me
  protonmail.com pm.me tutanota.com tutamail.com tuta.io zoho.com zohomail.com fastmail.com hey.com mail.com gmx.com
  gmx.de gmx.net web.de t-online.de freenet.de yandex.com yandex.ru mail.ru bk.ru inbox.ru list.ru rambler.ru
  qq.com foxmail.com 163.com 126.com sina.com naver.com daum.net hanmail.net rediffmail.com orange.fr laposte.net
  free.fr libero.it seznam.cz wp.pl o2.pl onet.pl uol.com.br bol.com.br terra.com.br comcast.net verizon.net att.net
  mailinator.com guerrillamail.com temp-mail.org yopmail.com
`);

export const carriesMailboxes = (host: string): boolean => MAIL_HOSTS.has(host);
