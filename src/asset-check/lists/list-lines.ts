import { type Body, type Collector, InvalidList } from './collector.js';
import { COMMENTS, dialectOf, type DialectName } from './dialects.js';
import { describeRejected } from './list-entry.js';

/** Maximum length of a line in UTF-16 units; the rest of a longer line is ignored. */
const MAX_LINE_LENGTH = 65_536;
/** Bytes decoded before the event loop may serve other requests. */
const BYTES_PER_SLICE = 8_192;
/** Matches the end of a line. CR LF yields an additional empty line, which is skipped. */
const LINE_END = /[\r\n]/;
/** An HTML or XML element, comment or declaration. */
const MARKUP = /<(?:[!?]|\/?[a-z])/i;
/** At most one in ten lines may be unreadable. */
const UNREADABLE_SHARE = 10;

/** Matches the start of a comment, which is at the start of a line or after white space. */
const COMMENT = /(?:^|\s)[#!]/;
/** In a hosts file, a comment may begin anywhere. */
const HOSTS_COMMENT = /[#!]/;
/** At least so many lines, of which most are split by the same sign, are a table. */
const MIN_TABLE_LINES = 4;
const SEPARATORS = [',', ';', '|'] as const;

/**
 * Calls `onEntry` with the text of each line, without comment and surrounding white space. Empty lines are skipped.
 * @param onEntry returns false if the text is unreadable
 * @throws InvalidList if the document has markup before the first entry, if more than a tenth of its lines are
 *   unreadable, or if nearly all of them are rows of a table
 */
export const forEachEntry = async (
  body: Body,
  format: 'plain' | 'hosts' | 'csv' | DialectName,
  collector: Collector,
  onEntry: (text: string) => boolean,
): Promise<void> => {
  const comment = { plain: COMMENT, csv: COMMENT, hosts: HOSTS_COMMENT, ...COMMENTS }[format];
  const split = new Map<string, number>();
  let texts = 0;
  let unreadable = 0;
  const take = (line: string): void => {
    const end = line.search(comment);
    const text = (end === -1 ? line : line.slice(0, end)).trim();
    if (text === '') return;
    if (collector.builder.isEmpty && MARKUP.test(text)) throw new InvalidList('The document is a web page, not a list');
    texts += 1;
    for (const sign of SEPARATORS) if (text.includes(sign)) split.set(sign, (split.get(sign) ?? 0) + 1);
    // A line that is too long is accepted if it is cut within a comment.
    if (line.length >= MAX_LINE_LENGTH && end === -1) collector.reject('too-long', text);
    else if (onEntry(text)) return;
    unreadable += 1;
  };
  const decoder = new TextDecoder();
  let rest = '';
  const read = (decoded: string): void => {
    const lines = decoded.split(LINE_END);
    lines[0] = rest + lines[0]!;
    rest = lines.pop()!.slice(0, MAX_LINE_LENGTH);
    for (const line of lines) take(line.length > MAX_LINE_LENGTH ? line.slice(0, MAX_LINE_LENGTH) : line);
  };
  for await (const chunk of body.chunks) {
    for (let start = 0; start < chunk.length; start += BYTES_PER_SLICE) {
      read(decoder.decode(chunk.subarray(start, start + BYTES_PER_SLICE), { stream: true }));
      if (collector.cooperativeYield.isDue()) await collector.cooperativeYield.yieldNow();
    }
  }
  read(`${decoder.decode()}\n`);
  const { examples = [] } = collector.rejected.find(({ reason }) => reason === 'unreadable') ?? {};
  const dialect = dialectOf(examples);
  const seen = dialect === undefined ? '' : `; the lines look like ${dialect}`;
  if (!collector.builder.isEmpty && unreadable * UNREADABLE_SHARE > texts)
    throw new InvalidList(`${unreadable} of ${texts} lines cannot be read, so the document is not a list${seen}`);
  if (collector.builder.isEmpty && seen !== '')
    throw new InvalidList(
      `The list has no usable entries${seen}: ${collector.rejected.map(describeRejected).join(', ')}`,
    );
  if (
    format === 'plain' &&
    texts >= MIN_TABLE_LINES &&
    Math.max(...split.values()) * UNREADABLE_SHARE > (UNREADABLE_SHARE - 1) * texts
  )
    throw new InvalidList('The document is a table (CSV), not a list: give one entry per line');
};
