import type { FactoryProvider, InjectionToken, Provider, Type } from '@nestjs/common';

/** How a host names the implementation of something this package needs: a class, or one of Nest's other three ways. */
export type Definition<T> =
  | Type<T>
  | { readonly useExisting: InjectionToken }
  | { readonly useValue: T }
  | Pick<FactoryProvider<T>, 'useFactory' | 'inject'>;

const WAYS = ['useExisting', 'useValue', 'useFactory'] as const;

/**
 * The provider that serves `definition` under `token`.
 *
 * @param what the option that it comes from, for the message
 * @throws {Error} when it is none of the four, above all the `undefined` that a class is while imports go in a circle
 */
export function provideDefinition<T>(what: string, token: InjectionToken, definition: Definition<T>): Provider {
  if (typeof definition === 'function') return { provide: token, useClass: definition };
  const given: unknown = definition;
  if (typeof given === 'object' && given !== null && WAYS.some((way) => way in given)) {
    return { provide: token, ...definition } as Provider;
  }
  throw new Error(`${what}: expected a class, { useExisting }, { useValue } or { useFactory }, not ${describe(given)}`);
}

/** What was given, and for the likely mistakes what to do. */
function describe(given: unknown): string {
  if (given === undefined) {
    return 'undefined, which a class is when its file and the one of the module import each other';
  }
  if (typeof given !== 'object') return `a ${typeof given}`;
  if (given === null) return 'null';
  if ('useClass' in given) return 'an object with useClass: give the class itself';
  const made: unknown = given.constructor;
  if (made !== Object && typeof made === 'function') return `an instance of ${made.name}: give it as { useValue }`;
  return `an object with ${Object.keys(given).join(', ') || 'nothing'}`;
}
