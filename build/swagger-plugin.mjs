import { readFileSync } from 'node:fs';
import * as swagger from '@nestjs/swagger/plugin';

/** The plugin's options, where Nest's own tools read them too. */
const optionsOf = ({ compilerOptions }) =>
  compilerOptions.plugins.find(({ name }) => name === '@nestjs/swagger').options;

/**
 * TypeScript names an imported type by an escaped string literal, which the plugin takes for the path itself and
 * decodes as a URL: a folder named "müller", or with a quote or per cent sign in it, led to imports of nothing.
 */
const withPlainPaths = (type) =>
  type.replaceAll(
    /\bimport\(("(?:[^"\\]|\\.)*")/g,
    (_, literal) => `import("${JSON.parse(literal).replaceAll('%', '%25')}"`,
  );

/** @returns the plugin as a transformer of this program's sources */
export const swaggerPlugin = (program) => {
  const checker = program.getTypeChecker();
  const plain = { ...checker, typeToString: (...given) => withPlainPaths(checker.typeToString(...given)) };
  return swagger.before(optionsOf(JSON.parse(readFileSync('nest-cli.json', 'utf8'))), {
    ...program,
    getTypeChecker: () => plain,
  });
};
