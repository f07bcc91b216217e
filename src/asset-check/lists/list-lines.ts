import { type Body, type Collector, ListRefused } from './collector.js';

/** In UTF-16 units. Of a longer line, only this much is read. */
const MAX_LINE_LENGTH = 65_536;
/** Bytes decoded between two chances to serve requests. */
const SLICE = 8_192;
/** One line break of CR and LF yields an empty line more, which means nothing. */
const LINE_END = /[\r\n]/;
/** An element, a comment or a declaration of HTML or XML. */
const MARKUP = /<(?:[!?]|\/?[a-z])/i;
/** One in this many lines may be unreadable. */
const UNREADABLE_SHARE = 10;

/** Where comments begin, in addition to the start of a line and after white space. */
const COMMENT = /(?:^|\s)[#!]/;
const HOSTS_COMMENT = /[#!]/;

/**
 * Passes on the text of each line, without its comment and without white space around. Lines without text are skipped.
 * @param onText returns false if it cannot read the text
 * @throws ListRefused if the document is not a list: it has markup before the first entry, or more than a tenth of its
 *   lines cannot be read
 */
export const eachText = async (
  body: Body,
  format: 'plain' | 'hosts',
  collector: Collector,
  onText: (text: string) => boolean,
): Promise<void> => {
  const comment = format === 'hosts' ? HOSTS_COMMENT : COMMENT;
  let texts = 0;
  let unreadable = 0;
  const take = (line: string): void => {
    const end = line.search(comment);
    const text = (end === -1 ? line : line.slice(0, end)).trim();
    if (text === '') return;
    if (collector.builder.isEmpty && MARKUP.test(text)) throw new ListRefused('It is a web page, not a list');
    texts += 1;
    // What is missing of a longer line may be a comment only.
    if (line.length >= MAX_LINE_LENGTH && end === -1) collector.reject('too-long', text);
    else if (onText(text)) return;
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
    for (let start = 0; start < chunk.length; start += SLICE) {
      read(decoder.decode(chunk.subarray(start, start + SLICE), { stream: true }));
      if (collector.turns.isOver()) await collector.turns.pass();
    }
  }
  read(`${decoder.decode()}\n`);
  if (!collector.builder.isEmpty && unreadable * UNREADABLE_SHARE > texts)
    throw new ListRefused(`${unreadable} of ${texts} lines cannot be read, so it is not a list`);
};
