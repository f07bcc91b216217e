import { describe, expect, it } from '@jest/globals';
import { AllowedMethods } from '../../../src/http/every-request.js';

describe('The methods of a path', () => {
  const allowed = new AllowedMethods();
  allowed.add('/v2/groups', ['POST']);
  allowed.add('/v2/groups', ['GET', 'HEAD']);
  allowed.add('/v2/groups/:id', ['PATCH']);
  allowed.add('/v2/groups/newest', ['GET']);
  allowed.add('/docs/*', ['GET']);
  allowed.add('/a.b', ['GET']);

  it('are all methods added for the path, once each and sorted', () => {
    expect(allowed.methodsOf('/v2/groups')).toBe('GET, HEAD, POST');
  });

  it('include the methods of a route whose parameter matches exactly one segment', () => {
    expect(allowed.methodsOf('/v2/groups/17')).toBe('PATCH');
    expect(allowed.methodsOf('/v2/groups/newest')).toBe('GET, PATCH');
    expect(allowed.methodsOf('/v2/groups/')).toBeUndefined();
    expect(allowed.methodsOf('/v2/groups/1/2')).toBeUndefined();
  });

  it('include the methods of a route whose wildcard matches any number of segments', () => {
    expect(allowed.methodsOf('/docs/a/b.css')).toBe('GET');
  });

  it('are undefined for an unknown path, whatever characters it contains', () => {
    expect(allowed.methodsOf('/v2')).toBeUndefined();
    expect(allowed.methodsOf('/a-b')).toBeUndefined();
  });
});
