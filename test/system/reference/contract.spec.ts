import { describe, expect, it } from '@jest/globals';
import { type Answered, Contract } from '../../support/contract.js';

const contract = new Contract();

const GROUP: Answered = {
  method: 'POST',
  route: '/v2/organization/asset-groups',
  status: 201,
  headers: {
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': 'a',
    'consistency-token': 'q3T0cXlW.mZ1v8Qm0w1c9oYb7Jw2dXg',
    location: '/v2/organization/asset-groups/1',
    'cache-control': 'private, no-store',
  },
  body: '{"id":1,"name":"Sites"}',
};
const REFUSED: Answered = {
  ...GROUP,
  status: 401,
  headers: { 'content-type': 'application/json', 'x-request-id': 'a', 'www-authenticate': 'ApiKey' },
  body: '{"code":"UNAUTHORIZED","message":"no"}',
};

/** `startApp` compares every response with the reference. These tests check that the comparison finds faults. */
describe('The comparison of responses with the reference', () => {
  it('finds no fault in a response that matches its declaration', () => {
    expect(contract.faultOf(GROUP)).toBeUndefined();
    expect(contract.faultOf(REFUSED)).toBeUndefined();
    const list = { ...GROUP, method: 'GET', status: 200, headers: { ...GROUP.headers, location: undefined } };
    delete (list.headers as { location?: string }).location;
    expect(contract.faultOf({ ...list, body: '{"groups":[{"id":1,"name":"a","assetCount":0}]}' })).toBeUndefined();
  });

  it.each<[string, Partial<Answered>, RegExp]>([
    ['a status that is not declared', { status: 202 }, /answered 202, which it does not declare/],
    ['a field that is not declared', { body: '{"id":1,"name":"Sites","secret":2}' }, /additional.*secret/],
    ['another type', { body: '{"id":"1","name":"Sites"}' }, /\/id that must be integer/],
    ['a fraction for a count', { body: '{"id":1.5,"name":"Sites"}' }, /\/id that must be integer/],
    ['a missing field', { body: '{"id":1}' }, /must have required property 'name'/],
    ['another media type', { headers: { ...GROUP.headers, 'content-type': 'text/html' } }, /as text\/html/],
    [
      'a header that is not declared',
      { headers: { ...GROUP.headers, 'x-powered-by': 'us' } },
      /with the header x-powered-by/,
    ],
    ['a missing header', { headers: { ...GROUP.headers, 'x-request-id': undefined } }, /without the header X-Req/],
  ])('finds %s', (_, change, fault) => {
    expect(contract.faultOf({ ...GROUP, ...change })).toMatch(fault);
  });

  it('covers shared schemas and lists', () => {
    expect(contract.faultOf({ ...REFUSED, body: '{"code":"ODD","message":"no"}' })).toMatch(/\/code/);
    const { 'www-authenticate': _, ...headers } = REFUSED.headers;
    const list = {
      ...REFUSED,
      headers,
      status: 400,
      body: '{"code":"BAD_REQUEST","message":"","issues":[{"message":"","at":1}]}',
    };
    expect(contract.faultOf(list)).toMatch(/\/issues\/0 .*additional.*"at"/);
  });
});
