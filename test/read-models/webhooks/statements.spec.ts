import { expect, it } from '@jest/globals';
import { LISTED_KIND } from '../../../src/events/kinds.js';
import { READ_WEBHOOK_FIGURES } from '../../../src/read-models/webhooks/statements.js';

it('The figures of webhooks count the pending records of every kind', () => {
  const [, list] = /\(values (.*?)\) k \(kind, name\)/.exec(READ_WEBHOOK_FIGURES.text)!;
  const kinds = [...list!.matchAll(/\((\d+)(?:::smallint)?, '(\w+)'\)/g)].map(([, number, name]) => [
    name,
    Number(number),
  ]);
  expect(Object.fromEntries(kinds)).toEqual(LISTED_KIND);
});
