/** Returned by a field for a value that is not of its type. */
export const MISMATCH = Symbol('mismatch');

/** A typed member of a frame: how it is named on the wire, read off it and written to it. */
export class Field<T, Optional extends boolean = false> {
  constructor(
    /** For error messages and the protocol's documentation. */
    readonly type: string,
    readonly read: (value: unknown) => T | typeof MISMATCH,
    readonly write: (value: T) => unknown,
    readonly optional: Optional,
    /** @default the name of the property */
    readonly wireName?: string,
    /** Not in the first daemons: peers that do not know it ignore it. */
    readonly additive = false,
  ) {}

  /** Named differently on the wire. */
  as(wireName: string): Field<T, Optional> {
    return new Field(this.type, this.read, this.write, this.optional, wireName, this.additive);
  }

  /** May be missing or null. */
  opt(): Field<T, true> {
    return new Field(this.type, this.read, this.write, true, this.wireName, this.additive);
  }

  /** Optional, and unknown to the first daemons and platforms. */
  added(): Field<T, true> {
    return new Field(this.type, this.read, this.write, true, this.wireName, true);
  }
}

/** A field of whatever type; the methods are declared as such so that every field is one. */
interface AnyField {
  readonly type: string;
  read(value: unknown): unknown;
  write(value: never): unknown;
  readonly optional: boolean;
  readonly wireName?: string | undefined;
  readonly additive: boolean;
}
export type Shape = Readonly<Record<string, AnyField>>;

type TypeOf<F> = F extends Field<infer T, boolean> ? T : never;
type RequiredKeys<S extends Shape> = { [K in keyof S]: S[K]['optional'] extends true ? never : K }[keyof S];

/** The object that a shape describes, named the TypeScript way. */
export type Typed<S extends Shape> = { readonly [K in RequiredKeys<S>]: TypeOf<S[K]> } & {
  readonly [K in Exclude<keyof S, RequiredKeys<S>>]?: TypeOf<S[K]>;
};

/** A frame or a member of one that is not what the table says. Its message names the member, never the value. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
  constructor(
    readonly member: string,
    readonly expected: string,
  ) {
    super(`${member}: expected ${expected}`);
  }
}

/** @throws {ShapeError} */
export function readShape<S extends Shape>(shape: S, value: unknown): Typed<S> {
  if (!isObject(value)) throw new ShapeError('frame', 'an object');
  const typed: Record<string, unknown> = {};
  for (const key in shape) {
    const field = shape[key] as AnyField;
    const wireName = field.wireName ?? key;
    const raw = Object.hasOwn(value, wireName) ? value[wireName] : undefined;
    if (raw === undefined || (raw === null && field.optional)) {
      if (!field.optional) throw new ShapeError(wireName, field.type);
      continue;
    }
    const read = field.read(raw);
    if (read === MISMATCH) throw new ShapeError(wireName, field.type);
    typed[key] = read;
  }
  return typed as Typed<S>;
}

/** The wire's form of `typed`; members that are undefined are left out. */
export function writeShape<S extends Shape>(shape: S, typed: Typed<S>): Record<string, unknown> {
  const wire: Record<string, unknown> = {};
  for (const key in shape) {
    const field = shape[key] as AnyField;
    const value = (typed as Record<string, unknown>)[key];
    if (value !== undefined) wire[field.wireName ?? key] = field.write(value as never);
  }
  return wire;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
