import { createRequire } from 'node:module';
import type { ISpectralDiagnostic, RulesetDefinition } from '@stoplight/spectral-core';

/** Recommended rules that do not apply to this project. */
const OFF = {
  oas: {},
  asyncapi: {
    // The AsyncAPI generators do not support 3.1.
    'asyncapi-latest-version': 'off',
    // The contact of the operator is not known.
    'asyncapi-info-contact-properties': 'off',
  },
} as const;

const require = createRequire(import.meta.url);

/**
 * Checks a document with Spectral's recommended rules.
 * @param kind `oas`: OpenAPI; `asyncapi`: AsyncAPI
 * @returns rule, message and path of each finding, hints included
 */
export const spectralComplaints = async (kind: 'oas' | 'asyncapi', document: object): Promise<string[][]> => {
  // Both packages are loaded only here, because they take a second to load.
  const { Spectral } = require('@stoplight/spectral-core') as typeof import('@stoplight/spectral-core');
  const rulesets = require('@stoplight/spectral-rulesets') as Record<typeof kind, RulesetDefinition>;
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [[rulesets[kind], 'recommended']], rules: OFF[kind] });
  const found: ISpectralDiagnostic[] = await spectral.run(JSON.stringify(document));
  return found.map(({ code, message, path }) => [String(code), message, path.join('/')]);
};
