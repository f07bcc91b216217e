import { expect, it, jest } from '@jest/globals';
import { requestLine, throttled } from '../../src/http/request-span.js';

it('A log line about a request is a single line without the query', () => {
  const request = { method: 'GET', url: '/v2/a\u0085b?apiKey=tp_secret#c' };
  expect(requestLine(request, 'ended 499', 'r1', 'the client left')).toBe(
    'GET "/v2/a b" ended 499, request r1: the client left',
  );
});

it('A throttled log writes one line per second, and the number of omitted lines', () => {
  jest.useFakeTimers({ now: 5_000 });
  const lines: string[] = [];
  const write = throttled((line) => lines.push(line));
  for (const line of ['a', 'b', 'c']) write(line);
  jest.advanceTimersByTime(999);
  write('d');
  jest.advanceTimersByTime(1);
  write('e');
  jest.advanceTimersByTime(1_000);
  write('f');
  jest.useRealTimers();
  expect(lines).toEqual(['a', 'e (and 3 more before it)', 'f']);
});
