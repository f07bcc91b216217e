/** Makes the wall clock of a process alternate between CLOCK_JUMP_MS ahead and CLOCK_JUMP_MS behind. */
const JUMPS_EVERY_MS = 700;
const jump = Number(process.env['CLOCK_JUMP_MS']);
const RealDate = Date;

const now = (): number => {
  const real = RealDate.now();
  return real + (Math.floor(real / JUMPS_EVERY_MS) % 2 === 0 ? jump : -jump);
};

class JumpingDate extends RealDate {
  constructor(...given: [] | [number]) {
    if (given.length === 0) super(now());
    else super(...given);
  }

  static override now(): number {
    return now();
  }
}

globalThis.Date = JumpingDate as DateConstructor;
