import { existsSync } from 'node:fs';
import ts from 'typescript';
import { swaggerPlugin } from './swagger-plugin.mjs';

const host = {
  getCanonicalFileName: (file) => file,
  getCurrentDirectory: () => process.cwd(),
  getNewLine: () => '\n',
};

const tell = (diagnostics) => {
  console.error(ts.formatDiagnosticsWithColorAndContext(diagnostics, host));
  console.error(`Found ${diagnostics.length} error(s).`);
};

/**
 * Compiles the project in the current folder, and says what is wrong with it on standard error.
 * @returns whether nothing is
 */
export const compile = (outDir) => {
  const file = ['tsconfig.build.json', 'tsconfig.json'].find((name) => existsSync(name));
  const onUnRecoverableConfigFileDiagnostic = (diagnostic) => tell([diagnostic]);
  const config = ts.getParsedCommandLineOfConfigFile(
    file,
    { outDir },
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic },
  );
  if (config === undefined) return false;
  const program = ts.createProgram(config.fileNames, config.options);
  const found = [...config.errors, ...ts.getPreEmitDiagnostics(program)];
  const wrong =
    found.length > 0
      ? found
      : program.emit(undefined, undefined, undefined, false, { before: [swaggerPlugin(program)] }).diagnostics;
  if (wrong.length > 0) tell(wrong);
  return wrong.length === 0;
};
