import type { Asset } from '../assets/asset.js';
import { EARLIEST, formatInstant, LATEST, parseInstant } from './instant.js';

export interface BrandReview {
  readonly organization: string;
  readonly brand: string;
}

export const SLUG = /^[a-z0-9][a-z0-9-]{0,63}$/;
const ID = /^[A-Za-z0-9._:-]{1,128}$/;
const UPPER_CASE_NAME = /^[A-Z0-9][A-Z0-9_.:-]{0,63}$/;

/** The longest list that the endpoint takes: each brand of a report is a fact to count. */
export const MAX_LIST = 50;
/**
 * The longest list read from the log. Earlier versions took this many, and what was accepted still counts; the
 * projector bounds its transactions by facts, so it can afford them.
 */
const MAX_STORED_LIST = 1_000;

/** Of an instant that a sender gives. */
export const INSTANT_RULE = 'must be an RFC 3339 date-time with an offset, in the years 1970 to 9999';

/** Text that PostgreSQL and other readers of the log cannot hold. */
export const isUnstorable = (text: string): boolean => text.includes('\0') || !text.isWellFormed();

/**
 * Reads the fields of one event's data. What is wrong is collected, one sentence each, so that the sender sees
 * everything at once; the value returned for a wrong field is of the right type and must not be used.
 */
export class Fields {
  readonly issues: string[] = [];

  private readonly earliest: number;
  private readonly latest: number;
  private readonly longestList: number;

  /**
   * @param latest instants after this one are refused, those before 1970, and lists longer than the endpoint takes;
   * absent for what is in the log already: a rebuild depends neither on the clock nor on a limit that came later
   */
  constructor(
    private readonly data: Readonly<Record<string, unknown>>,
    latest?: number,
  ) {
    this.earliest = latest === undefined ? EARLIEST : 0;
    this.latest = latest ?? LATEST;
    this.longestList = latest === undefined ? MAX_STORED_LIST : MAX_LIST;
  }

  slug(name: string): string {
    return this.matching(name, SLUG, 'must be a slug: 1 to 64 of a-z 0-9 -, not beginning with -');
  }

  optionalSlug(name: string): string | undefined {
    return this.absent(name) ? undefined : this.slug(name);
  }

  id(name: string): string {
    return this.matching(name, ID, 'must be 1 to 128 of A-Z a-z 0-9 . _ : -');
  }

  /** A value of an open list, such as a status: upper-case, 1 to 64 characters. */
  upperCaseName(name: string): string {
    return this.matching(name, UPPER_CASE_NAME, 'must be 1 to 64 upper-case characters (A-Z 0-9 _ . : -)');
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T {
    const value = allowed.find((candidate) => candidate === this.data[name]);
    if (value === undefined) this.refuse(name, `must be one of ${allowed.join(', ')}`);
    return value ?? allowed[0]!;
  }

  text(name: string, longest: number): string {
    return this.readText(name, this.data[name], longest);
  }

  optionalText(name: string, longest: number): string | undefined {
    return this.absent(name) ? undefined : this.text(name, longest);
  }

  boolean(name: string): boolean {
    const value = this.data[name];
    if (typeof value !== 'boolean') this.refuse(name, 'must be true or false');
    return value === true;
  }

  wholeNumber(name: string, least: number): number {
    const value = this.data[name];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
    this.refuse(name, `must be a whole number of at least ${least}`);
    return least;
  }

  instant(name: string): number {
    const value = this.data[name];
    const instant = typeof value === 'string' ? parseInstant(value) : undefined;
    if (instant === undefined || instant < this.earliest) {
      this.refuse(name, INSTANT_RULE);
    } else if (instant > this.latest) {
      this.refuse(name, `is more than 24 hours ahead of the clock: ${formatInstant(instant)}`);
    }
    return instant ?? 0;
  }

  optionalInstant(name: string): number | undefined {
    return this.absent(name) ? undefined : this.instant(name);
  }

  asset(name: string): Asset {
    const value = this.data[name];
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.refuse(name, 'must be an object { type, content }');
      return { type: '', content: '' };
    }
    const { type, content } = value as Record<string, unknown>;
    if (typeof type !== 'string' || !UPPER_CASE_NAME.test(type))
      this.refuse(`${name}.type`, 'must be 1 to 64 upper-case characters (A-Z 0-9 _ . : -)');
    return { type: String(type), content: this.readText(`${name}.content`, content, 4_096) };
  }

  /** Distinct slugs; absent is none. */
  slugs(name: string): readonly string[] {
    if (this.absent(name)) return [];
    const values = this.list(name);
    if (values.some((value) => typeof value !== 'string' || !SLUG.test(value))) {
      this.refuse(name, 'must hold slugs only: 1 to 64 of a-z 0-9 -, not beginning with -');
      return [];
    }
    return [...new Set(values as string[])];
  }

  /** Distinct pairs of organization and brand. */
  brandReviews(name: string): readonly BrandReview[] {
    const reviews = new Map<string, BrandReview>();
    for (const value of this.list(name)) {
      const { organization, brand } = (value ?? {}) as Record<string, unknown>;
      if (
        typeof organization !== 'string' ||
        typeof brand !== 'string' ||
        !SLUG.test(organization) ||
        !SLUG.test(brand)
      ) {
        this.refuse(name, 'must hold objects { organization, brand } of slugs only');
        return [];
      }
      reviews.set(`${organization}:${brand}`, { organization, brand });
    }
    return [...reviews.values()];
  }

  /** A list of one of the given values at least, each at most once. */
  someOf<T extends string>(name: string, allowed: readonly T[]): readonly T[] {
    const values = this.list(name);
    const known = allowed.filter((candidate) => values.includes(candidate));
    if (known.length === 0 || known.length !== new Set(values).size)
      this.refuse(name, `must hold at least one of ${allowed.join(', ')} and nothing else`);
    return known;
  }

  private list(name: string): readonly unknown[] {
    const value = this.data[name];
    if (Array.isArray(value) && value.length <= this.longestList) return value;
    this.refuse(name, `must be a list of at most ${this.longestList}`);
    return [];
  }

  private readText(path: string, value: unknown, longest: number): string {
    if (typeof value !== 'string' || value === '') {
      this.refuse(path, 'must be a non-empty string');
      return '';
    }
    // Code points are counted only where the cheaper count of UTF-16 units does not settle it.
    if (value.length > 2 * longest || (value.length > longest && [...value].length > longest))
      this.refuse(path, `must be at most ${longest} characters`);
    else if (isUnstorable(value)) this.refuse(path, 'must hold no U+0000 and no lone surrogate');
    return value;
  }

  private matching(name: string, pattern: RegExp, rule: string): string {
    const value = this.data[name];
    if (typeof value === 'string' && pattern.test(value)) return value;
    this.refuse(name, rule);
    return '';
  }

  private absent(name: string): boolean {
    return this.data[name] === undefined || this.data[name] === null;
  }

  private refuse(path: string, rule: string): void {
    this.issues.push(`data.${path} ${rule}`);
  }
}
