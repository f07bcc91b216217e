/** Hosts where anybody can have a mailbox, so that the status of the host does not apply to a mailbox. */
const MAIL_HOSTS: ReadonlySet<string> = new Set(
  `
  gmail.com googlemail.com outlook.com hotmail.com hotmail.co.uk hotmail.fr hotmail.de live.com msn.com yahoo.com
  yahoo.co.uk yahoo.co.jp yahoo.fr yahoo.de ymail.com rocketmail.com aol.com icloud.com me.com mac.com proton.me
  protonmail.com pm.me tutanota.com tutamail.com tuta.io zoho.com zohomail.com fastmail.com hey.com mail.com gmx.com
  gmx.de gmx.net web.de t-online.de freenet.de yandex.com yandex.ru mail.ru bk.ru inbox.ru list.ru rambler.ru
  qq.com foxmail.com 163.com 126.com sina.com naver.com daum.net hanmail.net rediffmail.com orange.fr laposte.net
  free.fr libero.it seznam.cz wp.pl o2.pl onet.pl uol.com.br bol.com.br terra.com.br comcast.net verizon.net att.net
  mailinator.com guerrillamail.com temp-mail.org yopmail.com
`
    .trim()
    .split(/\s+/),
);

export const hostsMailboxes = (host: string): boolean => MAIL_HOSTS.has(host);
