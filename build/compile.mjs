import { existsSync } from 'node:fs';
import { relative } from 'node:path';
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
 * @param folders the folders that are compiled, with what they import; if undefined, the whole project
 * @returns whether the project compiled without errors
 */
export const compile = (outDir, noCheck, folders) => {
  const file = ['tsconfig.build.json', 'tsconfig.json'].find((name) => existsSync(name));
  const onUnRecoverableConfigFileDiagnostic = (diagnostic) => tell([diagnostic]);
  const config = ts.getParsedCommandLineOfConfigFile(
    file,
    { outDir, noCheck },
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic },
  );
  if (config === undefined) return false;
  const isBuilt = (file) => folders === undefined || folders.includes(relative('.', file).split(/[\\/]/)[0]);
  const files = config.fileNames.filter(isBuilt);
  const program = ts.createProgram(files, config.options);
  const found = [...config.errors, ...ts.getPreEmitDiagnostics(program)];
  const wrong =
    found.length > 0
      ? found
      : program.emit(undefined, undefined, undefined, false, { before: [swaggerPlugin(program)] }).diagnostics;
  if (wrong.length > 0) tell(wrong);
  return wrong.length === 0;
};
