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
  const hint =
    given === undefined ? ', which a class is when its file and the one of the module import each other' : '';
  throw new Error(
    `${what}: expected a class, { useExisting }, { useValue } or { useFactory }, not ${describe(given)}${hint}`,
  );
}

function describe(given: unknown): string {
  if (given === null || given === undefined) return String(given);
  return typeof given === 'object'
    ? `an object with ${Object.keys(given).join(', ') || 'nothing'}`
    : `a ${typeof given}`;
}
