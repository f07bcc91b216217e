import { describe, expect, it } from '@jest/globals';
import { placeOf, serverUrls, shownServer } from '../../src/postgres/database-url.js';
import { ConfigError } from '../../src/runtime/config.js';

describe('The servers of DATABASE_URL', () => {
  it.each([
    ['postgres://u:p%40@db/threats', ['postgres://u:p%40@db/threats']],
    [
      'postgresql://u:p@a:5433,b/threats?sslmode=require&target_session_attrs=read-write',
      ['postgresql://u:p@a:5433/threats?sslmode=require', 'postgresql://u:p@b/threats?sslmode=require'],
    ],
    ['postgres://u@[::1]:1,[::2]/d?target_session_attrs=any', ['postgres://u@[::1]:1/d', 'postgres://u@[::2]/d']],
    ['postgres:///d?host=/run/postgresql', ['postgres:///d?host=/run/postgresql']],
  ])('of %s are as libpq reads them', (url, servers) => expect(serverUrls(url)).toEqual(servers));

  it('are places, and shown without user and password', () => {
    expect(placeOf('postgres://u:p@[::1]:5433/d')).toEqual({ host: '::1', port: 5433 });
    expect(placeOf('postgres://u:p@db.example/d')).toEqual({ host: 'db.example', port: 5432 });
    expect(placeOf('postgres://u:p@db.example:80/d')).toEqual({ host: 'db.example', port: 80 });
    expect(placeOf('postgres://u:p@%2Frun%2Fpostgresql/d')).toEqual({ host: '/run/postgresql', port: 5432 });
    expect(shownServer('postgres://u:secret@db:5433/d')).toBe('db:5433');
  });

  it.each([
    ['postgres://u:secret@a,b/d?target_session_attrs=standby', 'target_session_attrs=standby'],
    ['postgres://u:secret@a,,b/d', 'a host without a name'],
  ])('of %s are a wrong setting, whose password is not repeated', (url, words) => {
    expect(() => serverUrls(url)).toThrow(ConfigError);
    expect(() => serverUrls(url)).toThrow(words);
    expect(() => serverUrls(url)).not.toThrow('secret');
  });
});
