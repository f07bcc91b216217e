import { describe, expect, it } from '@jest/globals';
import { Invalid } from '../../../src/errors.js';
import { PageCursors } from '../../../src/http/responses/page-cursor.js';

const ISSUE = 'cursor must be of the page before';
const POSITION = [1_767_225_600_000, -1, 'threat-1', 'é\u{1f600}"'] as const;
const TYPE_EXAMPLES = [0, 0, '', ''] as const;
const SCOPE = { organization: 'acme', types: ['URL'] };
const cursors = new PageCursors('log-1', 'threats', ISSUE);
const cursor = cursors.write(SCOPE, POSITION);

const expectRejected = (...parameters: Parameters<PageCursors['read']>): void =>
  expect(() => cursors.read(...parameters)).toThrow(new Invalid(ISSUE));

describe('A page cursor', () => {
  it.each([[SCOPE], [7], ['7'], [null], [undefined]])('returns its position for the scope %j', (scope) => {
    const later = new PageCursors('log-1', 'threats', ISSUE);
    expect(later.read(scope, cursors.write(scope, POSITION), TYPE_EXAMPLES)).toEqual(POSITION);
    expect(later.read(scope, cursors.write(scope, []), [])).toEqual([]);
  });

  it('of an earlier version has the values that this version adds', () => {
    const added = [...TYPE_EXAMPLES, 0] as const;
    expect(cursors.read(SCOPE, cursor, added, [7])).toEqual([...POSITION, 7]);
    expect(cursors.read(SCOPE, cursors.write(SCOPE, [...POSITION, 8]), added, [7])).toEqual([...POSITION, 8]);
    expectRejected(SCOPE, cursors.write(SCOPE, [0, 0, '']), added, [7]);
  });

  it('is rejected with another scope', () => {
    for (const scope of [{ ...SCOPE, organization: 'globex' }, { organization: 'acme' }, null, undefined, ''])
      expectRejected(scope, cursor, TYPE_EXAMPLES);
    expectRejected(7, cursors.write('7', POSITION), TYPE_EXAMPLES);
    expectRejected(undefined, cursors.write(null, POSITION), TYPE_EXAMPLES);
  });

  it('is rejected if it belongs to another log or another list', () => {
    for (const others of [new PageCursors('log-2', 'threats', ISSUE), new PageCursors('log-1', 'reports', ISSUE)])
      expect(() => others.read(SCOPE, cursor, TYPE_EXAMPLES)).toThrow(new Invalid(ISSUE));
  });

  it('is rejected if it is truncated', () => {
    for (let length = 0; length < cursor.length; length += 1)
      expectRejected(SCOPE, cursor.slice(0, length), TYPE_EXAMPLES);
  });

  it('is rejected if any of its bytes has changed', () => {
    const bytes = Buffer.from(cursor, 'base64url');
    for (const at of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      expectRejected(SCOPE, changed.toString('base64url'), TYPE_EXAMPLES);
    }
  });

  it('is rejected in any other encoding of the same bytes', () => {
    const otherEncodings = [`${cursor}=`, ` ${cursor}`, `${cursor}\n`, `${cursor.slice(0, 4)}.${cursor.slice(4)}`];
    for (const text of otherEncodings) {
      expect(Buffer.from(text, 'base64url')).toEqual(Buffer.from(cursor, 'base64url'));
      expectRejected(SCOPE, text, TYPE_EXAMPLES);
    }
  });

  it('is rejected if its values do not have the expected types', () => {
    for (const typeExamples of [[], [0, 0, ''], [0, 0, '', '', ''], [0, 0, '', 0], ['', 0, '', '']])
      expectRejected(SCOPE, cursor, typeExamples);
    for (const number of [1.5, 2 ** 53, Number.NaN]) expectRejected(SCOPE, cursors.write(SCOPE, [number]), [0]);
  });

  it('reveals nothing about its position, not even that two positions are equal', () => {
    expect(cursors.write(SCOPE, POSITION)).not.toBe(cursor);
    for (const text of [cursor, Buffer.from(cursor, 'base64url').toString('latin1')])
      expect(text).not.toMatch('threat');
  });
});
