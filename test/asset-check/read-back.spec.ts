import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { linkForms } from '../support/cases/link-forms.js';
import { Random } from '../support/random.js';
import { checkerOf } from './checker-of.js';
import { generateText } from './generated-texts.js';

const TEXTS = 20_000;
const HOSTS =
  'evil.example linktr.ee www.youtube.com docs.google.com x.com onedrive.live.com mega.nz facebook.com t.me medium.com'.split(
    ' ',
  );
const PIECES =
  "/ // a Evil watch ?v= ? & = # #/ #! . .. , ) ( [ ] [.] (dot) { } ' * %2f %2F @ ! ; é utm_source=x id=1 /d/ document %5B ~ - _ open file /u/0 /ipfs/ view".split(
    ' ',
  );

const randomPage = (random: Random): string =>
  `https://${random.pick(HOSTS)}/${Array.from({ length: random.int(10) }, () => random.pick(PIECES)).join('')}`;

describe('The asset in the answer of a check', () => {
  it('has one of the keys of the content if it is reported', () => {
    const random = new Random(55);
    const texts = Array.from({ length: TEXTS }, (_, n) =>
      n % 4 === 0 ? generateText(random).text : randomPage(random),
    ).concat(linkForms().map(({ form }) => form));
    const wrong = texts.flatMap((text) => {
      const { parsed } = parseContent(text);
      if (parsed === undefined) return [];
      const key = assetKey({ type: parsed.type, content: parsed.name });
      const keys = [...parsed.keys, ...(parsed.blockingKeys ?? [])];
      return keys.includes(key) ? [] : [{ text, key, keys }];
    });
    expect(wrong).toEqual([]);
  });

  it.each([
    ['PAGE', 'https://docs.google.com/file/u/0/d/X', 'https://drive.google.com/file/d/X'],
    ['PAGE', 'https://docs.google.com/file/d/X', 'https://docs.google.com/file/u/0/d/X'],
    ['URL', 'https://chat.whatsapp.com/AbCdEfGh', 'https://api.whatsapp.com/chat?code=AbCdEfGh'],
    ['PAGE', 'https://evil.t.me/123', 'https://evil.t.me/123'],
    ['PAGE', 'https://evil.bsky.social/p', 'https://evil.bsky.social/p'],
  ])('has a status that was reported in another form: %s %s', async (type, reported, checked) => {
    expect((await checkerOf([`BLOCKED ${type} ${reported}`]))(checked).status).toBe('BLOCKED');
  });
});
