import { describe, expect, it } from '@jest/globals';
import { Invalid } from '../../../src/errors.js';
import { PageCursors } from '../../../src/http/responses/page-cursor.js';

const ISSUE = 'cursor must be of the page before';
const PLACE = [1_767_225_600_000, -1, 'threat-1', 'é\u{1f600}"'] as const;
const LIKE = [0, 0, '', ''] as const;
const SCOPE = { organization: 'acme', types: ['URL'] };
const cursors = new PageCursors('log-1', 'threats', ISSUE);
const cursor = cursors.write(SCOPE, PLACE);

const refused = (...[scope, text, like]: Parameters<PageCursors['read']>): void =>
  expect(() => cursors.read(scope, text, like)).toThrow(new Invalid(ISSUE));

describe('A page cursor', () => {
  it.each([[SCOPE], [7], ['7'], [null], [undefined]])('returns its position for the scope %j', (scope) => {
    const later = new PageCursors('log-1', 'threats', ISSUE);
    expect(later.read(scope, cursors.write(scope, PLACE), LIKE)).toEqual(PLACE);
    expect(later.read(scope, cursors.write(scope, []), [])).toEqual([]);
  });

  it('is rejected with another scope', () => {
    for (const scope of [{ ...SCOPE, organization: 'globex' }, { organization: 'acme' }, null, undefined, ''])
      refused(scope, cursor, LIKE);
    refused(7, cursors.write('7', PLACE), LIKE);
    refused(undefined, cursors.write(null, PLACE), LIKE);
  });

  it('is rejected if it belongs to another log or another list', () => {
    for (const others of [new PageCursors('log-2', 'threats', ISSUE), new PageCursors('log-1', 'reports', ISSUE)])
      expect(() => others.read(SCOPE, cursor, LIKE)).toThrow(new Invalid(ISSUE));
  });

  it('is rejected if it is truncated', () => {
    for (let length = 0; length < cursor.length; length += 1) refused(SCOPE, cursor.slice(0, length), LIKE);
  });

  it('is rejected if any of its bytes has changed', () => {
    const bytes = Buffer.from(cursor, 'base64url');
    for (const at of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      refused(SCOPE, changed.toString('base64url'), LIKE);
    }
  });

  it('is rejected in any other encoding of the same bytes', () => {
    const spelt = [`${cursor}=`, ` ${cursor}`, `${cursor}\n`, `${cursor.slice(0, 4)}.${cursor.slice(4)}`];
    for (const text of spelt) {
      expect(Buffer.from(text, 'base64url')).toEqual(Buffer.from(cursor, 'base64url'));
      refused(SCOPE, text, LIKE);
    }
  });

  it('is rejected if its values do not have the expected types', () => {
    for (const like of [[], [0, 0, ''], [0, 0, '', '', ''], [0, 0, '', 0], ['', 0, '', '']])
      refused(SCOPE, cursor, like);
    for (const number of [1.5, 2 ** 53, Number.NaN]) refused(SCOPE, cursors.write(SCOPE, [number]), [0]);
  });

  it('reveals nothing about its position, not even that two positions are equal', () => {
    expect(cursors.write(SCOPE, PLACE)).not.toBe(cursor);
    for (const text of [cursor, Buffer.from(cursor, 'base64url').toString('latin1')])
      expect(text).not.toMatch('threat');
  });
});
