/** Writes the production dependencies as a CycloneDX SBOM to coverage/sbom.cdx.json, and prints their number. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '..');
const sbom = execFileSync('npm', ['sbom', '--omit=dev', '--package-lock-only', '--sbom-format', 'cyclonedx'], {
  cwd: folder,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
  shell: process.platform === 'win32',
});
const { bomFormat, components } = JSON.parse(sbom);
if (bomFormat !== 'CycloneDX' || components.length === 0) throw new Error('npm made no CycloneDX SBOM');
mkdirSync(join(folder, 'coverage'), { recursive: true });
const file = join(folder, 'coverage', 'sbom.cdx.json');
writeFileSync(file, sbom);
console.log(`${file}: ${components.length} components`);
