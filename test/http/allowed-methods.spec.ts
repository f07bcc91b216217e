import { describe, expect, it } from '@jest/globals';
import { AllowedMethods } from '../../src/http/allowed-methods.js';

describe('The methods of a path', () => {
  const allowed = new AllowedMethods();
  allowed.add('/v2/groups', ['POST']);
  allowed.add('/v2/groups', ['GET', 'HEAD']);
  allowed.add('/v2/groups/:id', ['PATCH']);
  allowed.add('/v2/groups/newest', ['GET']);
  allowed.add('/docs/*', ['GET']);
  allowed.add('/a.b', ['GET']);

  it('are all that were added for it, once each, in order', () => {
    expect(allowed.of('/v2/groups')).toBe('GET, HEAD, POST');
  });

  it('are found through a parameter, which is one whole segment', () => {
    expect(allowed.of('/v2/groups/17')).toBe('PATCH');
    expect(allowed.of('/v2/groups/newest')).toBe('GET, PATCH');
    expect(allowed.of('/v2/groups/')).toBeUndefined();
    expect(allowed.of('/v2/groups/1/2')).toBeUndefined();
  });

  it('are found below a wildcard', () => {
    expect(allowed.of('/docs/a/b.css')).toBe('GET');
  });

  it('are none if there is no such path, whatever characters it holds', () => {
    expect(allowed.of('/v2')).toBeUndefined();
    expect(allowed.of('/a-b')).toBeUndefined();
  });
});
