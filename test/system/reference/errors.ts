import { ERROR_ROWS } from '../../../src/http/reference/description.js';

/** Returns the page of errors as Markdown: the table of the API reference. */
export const errorsPage = (): string => `# Errors

\`npm run record\` makes this page from \`src/http/reference/description.ts\`, which the API reference (\`GET /docs\`) shows too.

Every error has the same body, \`{ code, message, issues? }\`. Programs use \`code\`; \`message\` is for people and may change. Every 429 and 503 has \`Retry-After\` in seconds. [Limits](limits.md) lists what leads to a 429.

| status | code | when |
| --- | --- | --- |
${ERROR_ROWS}
`;
