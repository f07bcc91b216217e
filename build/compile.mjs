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
 * Compiles the project in the current folder and prints errors to standard error.
 * @param noCheck true skips the type check, which takes half of the time
 * @returns whether the project compiled without errors
 */
export const compile = (outDir, noCheck) => {
  const file = ['tsconfig.build.json', 'tsconfig.json'].find((name) => existsSync(name));
  const onUnRecoverableConfigFileDiagnostic = (diagnostic) => tell([diagnostic]);
  const config = ts.getParsedCommandLineOfConfigFile(
    file,
    { outDir, noCheck },
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
