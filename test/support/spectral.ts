import { createRequire } from 'node:module';
import type { ISpectralDiagnostic, RulesetDefinition } from '@stoplight/spectral-core';

/** Recommended, and not for us. */
const OFF = {
  oas: {},
  asyncapi: {
    // The generators of AsyncAPI do not read 3.1.
    'asyncapi-latest-version': 'off',
    // Address and e-mail of an operator that we do not know.
    'asyncapi-info-contact-properties': 'off',
  },
} as const;

const require = createRequire(import.meta.url);

/**
 * What Spectral's recommended rules say of a document.
 * @param kind `oas`: OpenAPI; `asyncapi`: AsyncAPI
 * @returns rule, message and place of each complaint, hints included
 */
export const spectralComplaints = async (kind: 'oas' | 'asyncapi', document: object): Promise<string[][]> => {
  // Both are CommonJS and take a second to load, which only the specs that lint should pay.
  const { Spectral } = require('@stoplight/spectral-core') as typeof import('@stoplight/spectral-core');
  const rulesets = require('@stoplight/spectral-rulesets') as Record<typeof kind, RulesetDefinition>;
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [[rulesets[kind], 'recommended']], rules: OFF[kind] });
  const found: ISpectralDiagnostic[] = await spectral.run(JSON.stringify(document));
  return found.map(({ code, message, path }) => [String(code), message, path.join('/')]);
};
