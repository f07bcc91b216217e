import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ORGANIZATION } from '../demo/row-events.js';

export interface Keys {
  /** For events of every organization. */
  readonly ingest: string;
  /** Read and write access to the demo's organization. */
  readonly organization: string;
}

/** The file with each key's header line. */
export type KeyHeaders = Keys;

/**
 * Writes each key as a header line to a file that only this user can read. A key on curl's command line, even from a
 * shell variable, could be read by every process on the machine.
 * @param url part of the file names, so that two demos do not overwrite each other's keys
 */
export const writeKeyHeaders = async (dataDir: string, url: string, keys: Keys): Promise<KeyHeaders> => {
  const folder = join(dataDir, 'demo');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const write = async (name: keyof Keys): Promise<string> => {
    const file = join(folder, `${name}-key-${new URL(url).port}.header`);
    // An existing file would keep its mode.
    await rm(file, { force: true });
    await writeFile(file, `X-API-KEY: ${keys[name]}\n`, { mode: 0o600, flag: 'wx' });
    return file;
  };
  return { ingest: await write('ingest'), organization: await write('organization') };
};

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A call per endpoint, to paste into a shell. curl 7.55 or later reads headers from a file. */
export const curlLines = (url: string, { ingest, organization }: KeyHeaders): string[] => {
  const key = `-H ${quoted(`@${organization}`)}`;
  const json = "-H 'Content-Type: application/json'";
  const report = {
    specversion: '1.0',
    id: 'by-hand-1',
    source: 'https://example.com/by-hand',
    type: 'ReportFiled',
    time: '2026-02-03T12:00:00Z',
    data: {
      organization: ORGANIZATION,
      reportId: 'by-hand-1',
      brands: ['metamask'],
      createdAt: '2026-02-03T12:00:00Z',
      updatedAt: '2026-02-03T12:00:00Z',
    },
  };
  return [
    'Try it (the keys are in the files that the calls name):',
    '',
    `curl -i '${url}/v2/organization/metrics?startDate=2025-01-01&endDate=2025-12-31' ${key}`,
    '',
    `curl '${url}/v2/organization/metrics?brandSlug=metamask' ${key}`,
    '',
    `curl '${url}/v2/asset/check' ${key} ${json} -d '{"content":"https://polkadot-dot.info/login"}'`,
    '',
    `curl '${url}/v2/asset/check/bulk' ${key} ${json} -d '{"contents":["polkadot-dot.info","example.com"]}'`,
    '',
    `curl '${url}/v2/organization/asset-groups' ${key} ${json} -d '{"name":"Wallets"}'`,
    '',
    `curl '${url}/v2/organization/asset-groups' ${key}`,
    '',
    `curl '${url}/v2/events' -H ${quoted(`@${ingest}`)} -H 'Content-Type: application/cloudevents+json' \\`,
    `  -d '${JSON.stringify(report)}'`,
    '',
    `The dashboard: ${url}/dashboard?range=all`,
    `  (it asks for a key: paste the line in ${organization})`,
    '',
    `The API reference: ${url}/docs`,
  ];
};
