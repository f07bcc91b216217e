import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readSourcesFile } from '../../../src/asset-check/sources/sources-file.js';
import { ConfigError, readConfig } from '../../../src/runtime/config.js';

describe('The sources file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sources-'));
  const file = join(folder, 'sources.json');
  afterAll(() => rmSync(folder, { recursive: true }));

  const read = (content: unknown, env: NodeJS.ProcessEnv = {}): ReturnType<typeof readSourcesFile> => {
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return readSourcesFile(readConfig({ SOURCES_FILE: file, ...env }));
  };
  const own = { id: 'own', kind: 'own' };
  const list = { id: 'list', kind: 'list', format: 'plain', url: 'https://lists.example/list.txt' };
  const partner = { id: 'partner', kind: 'http', url: 'https://partner.example/check' };

  it('shipped with the service has the own source and four public lists with their URLs', () => {
    const { sources, budgetMs } = readSourcesFile(readConfig({}));
    expect(budgetMs).toBe(1_500);
    expect(sources).toHaveLength(5);
    expect(sources[0]).toMatchObject({ id: 'own', kind: 'own', mode: 'ENABLED' });
    for (const source of sources.slice(1))
      expect(source).toMatchObject({ kind: 'list', mode: 'ENABLED', url: expect.stringMatching(/^https:\/\//) });
  });

  it('may begin with a byte order mark', () => {
    expect(read(`\uFEFF${JSON.stringify({ sources: [own] })}`)).toEqual(read({ sources: [own] }));
    expect(() => read(`\uFEFF\uFEFF${JSON.stringify({ sources: [own] })}`)).toThrow('cannot be read');
  });

  it('is completed with default values', () => {
    expect(
      read({
        hostingSuffixes: ['pages.dev', '*.deep.example'],
        sources: [own, list, { ...list, id: 'file', url: undefined, file: 'near.txt', mode: 'DISABLED' }, partner],
      }),
    ).toEqual({
      budgetMs: 1_500,
      hostingSuffixes: ['pages.dev', '*.deep.example'],
      sources: [
        { ...own, mode: 'ENABLED', redistribute: true, maxBytes: 268_435_456 },
        {
          ...list,
          mode: 'ENABLED',
          redistribute: false,
          verdict: 'BLOCKED',
          refreshSeconds: 300,
          timeoutMs: 10_000,
          maxBytes: 67_108_864,
        },
        {
          id: 'file',
          kind: 'list',
          mode: 'DISABLED',
          format: 'plain',
          redistribute: false,
          verdict: 'BLOCKED',
          file: join(folder, 'near.txt'),
          refreshSeconds: 300,
          timeoutMs: 10_000,
          maxBytes: 67_108_864,
        },
        { ...partner, mode: 'ENABLED', headers: {}, timeoutMs: 1_000 },
      ],
    });
  });

  it('may have guards, whose format is plain by default', () => {
    const guard = { id: 'popular', kind: 'guard', url: 'https://lists.example/hosts.csv' };
    expect(read({ sources: [own, guard, { ...guard, id: 'ranked', format: 'csv' }] }).sources.slice(1)).toMatchObject([
      { ...guard, mode: 'ENABLED', format: 'plain', verdict: 'GUARDED', refreshSeconds: 300 },
      { kind: 'guard', format: 'csv' },
    ]);
    for (const [field, value, message] of [
      ['format', 'hosts', 'sources[1].format must be one of plain, csv'],
      ['verdict', 'BLOCKED', 'sources[1].verdict is unknown'],
      ['appeal', 'https://x.example', 'sources[1].appeal is unknown'],
    ] as const)
      expect(() => read({ sources: [own, { ...guard, [field]: value }] })).toThrow(message);
  });

  it('substitutes environment variables in headers, and requires them only for enabled sources', () => {
    const headers = { 'X-API-KEY': '${PARTNER_KEY}', Authorization: 'Bearer ${A}-${B}' };
    const { sources } = read({ sources: [own, { ...partner, headers }] }, { PARTNER_KEY: 'secret', A: 'a', B: 'b' });
    expect(sources[1]).toMatchObject({ headers: { 'x-api-key': 'secret', authorization: 'Bearer a-b' } });
    expect(() => read({ sources: [own, { ...partner, headers }] }, { A: 'a', B: 'b' })).toThrow(
      'sources[1].headers.X-API-KEY uses ${PARTNER_KEY}, which is not set',
    );
    expect(() => read({ sources: [own, { ...partner, headers, mode: 'DISABLED' }] })).not.toThrow();
    expect(() => read({ sources: [own, { ...partner, headers }] }, { PARTNER_KEY: 'x\ny', A: 'a', B: 'b' })).toThrow(
      /^(?!.*x\ny).*headers\.X-API-KEY has characters that a header cannot have/,
    );
  });

  it.each([
    ['{', 'cannot be read'],
    ['[]', 'must be a JSON object'],
    [{}, 'sources must be an array'],
    [{ sources: [] }, 'sources must contain exactly one source of kind own, not 0'],
    [{ sources: [own, { ...own, id: 'own2' }] }, 'sources must contain exactly one source of kind own, not 2'],
    [{ sources: [own, list, list] }, 'sources[2].id is a duplicate of "list"'],
    [{ sources: [own], budget: 5 }, 'budget is unknown; allowed are budgetMs, hostingSuffixes, sources'],
    [{ sources: [own], budgetMs: 0 }, 'budgetMs must be a whole number from 1 to 60000'],
    [{ sources: [own], budgetMs: '1500' }, 'budgetMs must be a whole number'],
    [{ sources: [own], hostingSuffixes: 'pages.dev' }, 'hostingSuffixes must be an array'],
    [{ sources: [own], hostingSuffixes: ['ok.example', 'dev'] }, 'hostingSuffixes[1] must be a host'],
    [{ sources: [own, 7] }, 'sources[1] must be an object'],
    [{ sources: [own, { id: 'x' }] }, 'sources[1].kind must be one of own, list, http'],
    [{ sources: [{ ...own, url: 'x' }] }, 'sources[0].url is unknown; allowed are id, kind, mode'],
    [{ sources: [own, { ...list, id: '../x' }] }, 'sources[1].id must be 1 to 64 of'],
    [{ sources: [own, { ...list, id: undefined }] }, 'sources[1].id must be 1 to 64 of'],
    [{ sources: [own, { ...list, mode: 'on' }] }, 'sources[1].mode must be one of ENABLED, DISABLED'],
    [
      { sources: [own, { ...list, format: 'csv' }] },
      'sources[1].format must be one of plain, hosts, json, metamask, polkadot',
    ],
    [{ sources: [own, { ...list, verdict: 'bad' }] }, 'sources[1].verdict must be one of BLOCKED, ALLOWED'],
    [
      { sources: [own, { ...list, format: 'metamask', verdict: 'BLOCKED' }] },
      'sources[1].verdict does not apply to the format',
    ],
    [{ sources: [own, { ...list, url: undefined }] }, 'sources[1].url or file must be set'],
    [{ sources: [own, { ...list, file: 'x' }] }, 'sources[1].url or file must be set, but not both'],
    [{ sources: [own, { ...list, url: 'ftp://x.example' }] }, 'sources[1].url must be an http:// or https:// URL'],
    [{ sources: [own, { ...list, url: 'http://[' }] }, 'sources[1].url is not a valid URL'],
    [{ sources: [own, { ...list, refreshSeconds: 0 }] }, 'sources[1].refreshSeconds must be a whole number'],
    [{ sources: [own, { ...list, timeoutMs: 1.5 }] }, 'sources[1].timeoutMs must be a whole number'],
    [{ sources: [own, { ...list, maxBytes: -1 }] }, 'sources[1].maxBytes must be a whole number'],
    [{ sources: [own, { ...list, headers: {} }] }, 'sources[1].headers is unknown'],
    [{ sources: [own, { ...partner, headers: [] }] }, 'sources[1].headers must be an object of strings'],
    [{ sources: [own, { ...partner, headers: { 'a b': 'x' } }] }, 'sources[1].headers.a b is not a valid header name'],
    [{ sources: [own, { ...partner, headers: { a: 7 } }] }, 'sources[1].headers.a must be a string'],
    [{ sources: [own, { ...partner, url: 7 }] }, 'sources[1].url must be an http:// or https:// URL'],
  ])('prevents startup if it is invalid, and the error names the invalid field: %j', (content, sentence) => {
    let thrown: unknown;
    try {
      read(content);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ConfigError);
    expect((thrown as Error).message).toContain(`${file}`);
    expect((thrown as Error).message).toContain(sentence);
  });

  it('prevents startup if it is missing', () => {
    expect(() => readSourcesFile(readConfig({ SOURCES_FILE: join(folder, 'none.json') }))).toThrow(ConfigError);
  });
});
