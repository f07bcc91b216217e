import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { nodeIssue } from '../../../src/runtime/version.js';

const execute = promisify(execFile);

describe('The check of the Node version', () => {
  it.each(['v18.20.4', 'v20.18.3'])('rejects %s with a message that names both versions', (version) => {
    expect(nodeIssue(version)).toBe(`This is Node ${version}; the service needs Node 20.19 or later`);
  });

  it.each(['v20.19.0', 'v22.0.0', 'v24.21.0'])('accepts %s', (version) => {
    expect(nodeIssue(version)).toBeUndefined();
  });

  it('requires the Node version that `engines` in package.json names, which npm enforces too', () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
    const [, minimum] = /^>=(\d+\.\d+)$/.exec(engines.node)!;
    expect(nodeIssue(`v${minimum}.0`)).toBeUndefined();
    expect(nodeIssue('v1.0.0')).toContain(`Node ${minimum} or later`);
    expect(readFileSync('.npmrc', 'utf8')).toContain('engine-strict=true');
  });

  it.each(['src/main.ts', 'src/deliver.ts', 'src/cli.ts', 'projections/main.ts'])(
    'runs in %s before anything else is loaded',
    (file) => {
      const source = readFileSync(file, 'utf8');
      expect(source.match(/^import .*$/gm)).toEqual([expect.stringContaining('/runtime/version.js')]);
      expect(readFileSync('src/runtime/terminal.ts', 'utf8')).not.toMatch(/^import /m);
    },
  );

  it('is reached by Node 18, which has no `import.meta.dirname`', () => {
    for (const name of ['version', 'terminal'])
      expect(readFileSync(`src/runtime/${name}.ts`, 'utf8')).not.toMatch(/[^`]import\.meta\.(?:dirname|filename)/);
  });

  it.each([
    'build/build.mjs',
    'dist/src/main.js',
    'dist/src/deliver.js',
    'dist/src/cli.js',
    'dist/projections/main.js',
  ])('ends %s with exit code 78 and prints only its message', async (file) => {
    const asOld = `data:text/javascript,Object.defineProperty(process, 'version', { value: 'v20.9.0' })`;
    await expect(execute(process.execPath, ['--import', asOld, file])).rejects.toMatchObject({
      code: 78,
      stdout: '',
      stderr: 'This is Node v20.9.0; the service needs Node 20.19 or later\n',
    });
  });
});
