/** For each switch its values; the first is the default. */
export type AlternativeTable = Readonly<Record<string, readonly [unknown, unknown, ...unknown[]]>>;

/** One value for each switch. */
export type Choices<T extends AlternativeTable> = { readonly [K in keyof T]: T[K][number] };

/** One value of one switch. */
export interface Alternative<T extends AlternativeTable> {
  readonly name: keyof T & string;
  readonly value: T[keyof T][number];
  readonly isDefault: boolean;
  /** The switch alone, to hand to the emulator. */
  readonly choice: Partial<Choices<T>>;
}

/** The first of each, overridden by what was chosen. */
export function choices<T extends AlternativeTable>(table: T, chosen: Partial<Choices<T>> = {}): Choices<T> {
  const defaults = Object.fromEntries(Object.entries(table).map(([name, values]) => [name, values[0]]));
  return { ...defaults, ...chosen };
}

/** Every value of every switch, one at a time. */
export function eachAlternative<T extends AlternativeTable>(table: T): Alternative<T>[] {
  return Object.entries(table).flatMap(([name, values]) =>
    values.map((value, at) => ({
      name,
      value: value as T[keyof T][number],
      isDefault: at === 0,
      choice: { [name]: value } as Partial<Choices<T>>,
    })),
  );
}
