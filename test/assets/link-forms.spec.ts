import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { IMPERSONAL, linkForms } from '../support/cases/link-forms.js';

const FORMS = linkForms();

describe('Links of platforms', () => {
  it.each(FORMS)('$form is parsed as $reading', ({ form, reading }) => {
    const { type, name } = parseContent(form).parsed ?? { type: 'URL', name: '' };
    if (reading === undefined)
      expect({ type, isImpersonal: IMPERSONAL.has(type) }).toEqual({ type, isImpersonal: true });
    else expect(`${type} ${name}`).toBe(reading);
  });

  it.each(FORMS.filter(({ reading }) => reading !== undefined))(
    '$form has the same key when it is reported and when it is checked',
    ({ form, reading }) => {
      const [type = '', name = ''] = reading!.split(' ');
      const key = assetKey({ type, content: form });
      const { keys, blockingKeys = [] } = parseContent(form).parsed!;
      expect([...keys, ...blockingKeys]).toContain(key);
      expect(key).toBe(assetKey({ type, content: name }));
    },
  );

  it('include more than 200 links to profiles and more than 60 other links', () => {
    const known = FORMS.filter(({ reading }) => reading !== undefined);
    expect(known.length).toBeGreaterThan(200);
    expect(FORMS.length - known.length).toBeGreaterThan(60);
  });
});
