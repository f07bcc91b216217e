/** A code of a merchant for a payment (EMV QRCPS), such as PIX: its version, its fields, and last its checksum. */
const MERCHANT = /^000201\d{4}[^]*6304[\dA-F]{4}$/i;
/** The templates of merchant accounts, and those that a country defines. */
const TEMPLATE = /^(?:2[6-9]|[34]\d|5[01]|[89]\d)$/;
/** The field of a template that says in which system the account is. */
const SYSTEM = '00';
/** A place from which the payer's bank loads the payment, or a mailbox. Other values are known to the bank alone. */
const PAYEE = /^[^\s@]*\.[^\s@]*\/|@[^\s@]+\.|^https?:/i;

/** The values of a text by their fields: two digits of a number, two of a length, and the value. */
function* fieldsOf(text: string): Generator<readonly [field: string, value: string]> {
  for (let at = 0; at + 4 <= text.length;) {
    const end = at + 4 + Number(text.slice(at + 2, at + 4));
    if (!(end > at)) return;
    yield [text.slice(at, at + 2), text.slice(at + 4, end)];
    at = end;
  }
}

/** Returns the locations and mailboxes in a merchant's code; undefined if the text is no such code. */
export const payeesOfMerchant = (text: string): readonly string[] | undefined => {
  if (!MERCHANT.test(text.trim())) return undefined;
  return [...fieldsOf(text.trim())]
    .filter(([field]) => TEMPLATE.test(field))
    .flatMap(([, template]) => [...fieldsOf(template)])
    .flatMap(([field, value]) => (field !== SYSTEM && PAYEE.test(value) ? [value] : []));
};
