import type { FactoryProvider, InjectionToken, Provider, Type } from '@nestjs/common';

/** How a host names the implementation of something this package needs: a class, or one of Nest's other three ways. */
export type Definition<T> =
  | Type<T>
  | { readonly useExisting: InjectionToken }
  | { readonly useValue: T }
  | Pick<FactoryProvider<T>, 'useFactory' | 'inject'>;

/** The provider that serves `definition` under `token`. */
export function provideDefinition<T>(token: InjectionToken, definition: Definition<T>): Provider {
  return typeof definition === 'function'
    ? { provide: token, useClass: definition }
    : ({ provide: token, ...definition } as Provider);
}
