import { ORGANIZATION } from './row-events.js';
import type { KeyHeaders } from './header-files.js';

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Returns lines with one curl call per endpoint, which a user can paste into a shell. curl 7.55 or later can read
 * headers from a file.
 */
export const curlLines = (url: string, { ingest, organization }: KeyHeaders): string[] => {
  // The responses have no line break at the end.
  const curl = "curl -w '\\n'";
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
    `${curl} -i '${url}/v2/organization/metrics?startDate=2025-12-29&endDate=2025-12-31' ${key}`,
    '',
    `${curl} '${url}/v2/organization/metrics?brandSlug=metamask' ${key}`,
    '',
    `${curl} '${url}/v2/asset/check' ${key} ${json} -d '{"content":"https://polkadot-dot.info/login"}'`,
    '',
    `${curl} '${url}/v2/asset/check/bulk' ${key} ${json} -d '{"contents":["polkadot-dot.info","example.com"]}'`,
    '',
    `${curl} '${url}/v2/organization/asset-groups' ${key} ${json} -d '{"name":"Wallets"}'`,
    '',
    `${curl} '${url}/v2/organization/asset-groups' ${key}`,
    '',
    `${curl} '${url}/v2/events' -H ${quoted(`@${ingest}`)} -H 'Content-Type: application/cloudevents+json' \\`,
    `  -d '${JSON.stringify(report)}'`,
    '',
    `The dashboard: ${url}/dashboard?range=all`,
    `  (it asks for a key: paste the line in ${organization})`,
    '',
    `The API reference: ${url}/docs`,
  ];
};
