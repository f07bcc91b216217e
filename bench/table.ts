import type { Growth, Line } from './goal.js';

/** Whether the median of a line reaches the mark; false without a mark. */
export const isMet = ({ measured, more = true }: Line, mark: number | undefined): boolean =>
  mark !== undefined && (more ? measured.median >= mark : measured.median <= mark);

const verdict = (line: Line): string => {
  if (line.must === undefined) return '';
  if (isMet(line, line.aim)) return 'aim';
  if (isMet(line, line.must)) return 'must';
  return 'NOT MET';
};

/** Formats a value with three significant digits. */
export const formatFigure = (value: number): string => {
  const magnitude = Math.abs(value);
  if (magnitude >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(magnitude >= 10 ? 1 : 2);
};

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

export const table = (columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string => {
  const widths = columns.map((column, at) => Math.max(column.length, ...rows.map((cells) => String(cells[at]).length)));
  const pad = (cells: readonly (string | number)[]): string =>
    row(cells.map((cell, at) => String(cell).padEnd(widths[at]!)));
  return [pad(columns), row(widths.map((width) => '-'.repeat(width))), ...rows.map(pad)].join('\n');
};

/** @param changeOf the change of a line against the last result */
export const goalsTable = (lines: readonly Line[], changeOf: (line: Line) => string): string =>
  table(
    ['goal', 'what', 'compared with', 'required', 'aim', 'measured', 'quartiles', 'met', 'change', 'note'],
    lines.map((line) => {
      const { goal, what, against, must, aim, measured, unit, note = '' } = line;
      const unitOf = unit === '' ? '' : ` ${unit}`;
      return [
        goal,
        what,
        against,
        must === undefined ? '' : `${formatFigure(must)}${unitOf}`,
        aim === undefined ? '' : `${formatFigure(aim)}${unitOf}`,
        `${formatFigure(measured.median)}${unitOf}`,
        `${formatFigure(measured.lower)} – ${formatFigure(measured.upper)}`,
        verdict(line),
        changeOf(line),
        note,
      ];
    }),
  );

export const growthTable = ({ what, columns, rows }: Growth): string => `${what}\n\n${table(columns, rows)}`;
