import { Global, Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  SandboxAdapter,
  SandboxError,
  sandboxHandle,
  type ExecResult,
  type SandboxCapability,
  type SandboxCommand,
  type SandboxHandle,
  type SandboxInfo,
} from '#libs/contract';
import { SpritesOptions } from '../adapters/sprites/index.js';
import { SandboxModule } from './sandbox.module.js';
import type { AdapterDefinition, SandboxModuleAsyncOptions, SandboxModuleOptions } from './sandbox.options.js';
import { SandboxTelemetry } from './sandbox-telemetry.js';
import { SandboxService } from './sandbox.service.js';
import { SandboxSettings } from './sandbox.settings.js';
import { getSandboxAdapterToken } from './sandbox.tokens.js';

/** An adapter that does nothing, and says so. */
@Injectable()
class IdleAdapter extends SandboxAdapter {
  override readonly capabilities = new Set<SandboxCapability>(['suspend']);
  label = 'idle';

  constructor() {
    super('idle');
  }

  protected override async doCreate(name: string): Promise<SandboxHandle> {
    return sandboxHandle(this.provider, name);
  }
  protected override async doGet(): Promise<SandboxInfo> {
    return { status: 'running', raw: this.label };
  }
  protected override async doDestroy(): Promise<void> {}
  protected override async doListAllNames(): Promise<string[]> {
    return [this.label];
  }
  protected override async doWriteFile(): Promise<void> {}
  protected override async doExec(): Promise<ExecResult> {
    throw new SandboxError('not_supported');
  }
  protected override async doSpawn(): Promise<SandboxCommand> {
    throw new SandboxError('not_supported');
  }
}

const TOKEN = Symbol('an adapter of the host');

function labelled(label: string): IdleAdapter {
  return Object.assign(new IdleAdapter(), { label });
}

async function serviceWith(options: SandboxModuleOptions): Promise<SandboxService> {
  const app = await Test.createTestingModule({ imports: [SandboxModule.forRoot(options)] }).compile();
  return app.get(SandboxService);
}

async function settingsWith(options: SandboxModuleOptions): Promise<SandboxSettings> {
  const app = await Test.createTestingModule({
    imports: [SandboxModule.forRoot({ adapters: {}, ...options })],
  }).compile();
  return app.get(SandboxSettings);
}

@Module({ providers: [{ provide: TOKEN, useValue: labelled('existing') }], exports: [TOKEN] })
class HostModule {}

afterEach(() => {
  delete process.env['SANDBOX_RETRY_BASE_MS'];
  delete process.env['SPRITES_CHECKPOINT_CREATION_ENABLED'];
});

describe('SandboxModule', () => {
  test('takes adapters of all four kinds', async () => {
    const service = await serviceWith({
      imports: [HostModule],
      adapters: {
        by_class: IdleAdapter,
        by_token: { useExisting: TOKEN },
        by_value: { useValue: labelled('value') },
        by_factory: { inject: [SandboxSettings], useFactory: (s: SandboxSettings) => labelled(`${s.retryBaseMs} ms`) },
      },
    });
    expect(service.providers).toEqual(['by_class', 'by_token', 'by_value', 'by_factory']);
    const labels = await Promise.all(service.providers.map((tag) => service.listAllNames(tag)));
    expect(labels.flat()).toEqual(['idle', 'existing', 'value', '250 ms']);
    await expect(service.create('by_class', 'one')).resolves.toEqual({ provider: 'by_class', name: 'one' });
  });

  test('serves the hosted providers where no adapters are named, and answers denied without a credential', async () => {
    const service = await serviceWith({});
    expect(service.providers).toEqual(['sprites', 'e2b', 'daytona']);
    for (const provider of service.providers) {
      await expect(service.create(provider, 'box')).rejects.toMatchObject({ code: 'denied', effect: 'none', provider });
    }
    expect((await serviceWith({ adapters: {} })).providers).toEqual([]);
  });

  test('lets a test replace one of them by its token', async () => {
    const app = await Test.createTestingModule({
      imports: [SandboxModule.forRoot({ adapters: { idle: IdleAdapter } })],
    })
      .overrideProvider(getSandboxAdapterToken('idle'))
      .useValue(labelled('fake'))
      .compile();
    await expect(app.get(SandboxService).listAllNames('idle')).resolves.toEqual(['fake']);
  });

  test('gives each application instances of its own', async () => {
    const adapters = { idle: IdleAdapter };
    const [one, two] = await Promise.all([serviceWith({ adapters }), serviceWith({ adapters })]);
    await one.create('idle', 'x');
    expect(one).not.toBe(two);
  });

  test.each(['Idle', '1st', '', 'a-b', 'ä'])('does not start with the tag %p', async (tag) => {
    await expect(serviceWith({ adapters: { [tag]: IdleAdapter } })).rejects.toThrow('[a-z][a-z0-9_]*');
  });

  test('does not start with one instance under two tags', async () => {
    const shared = { useValue: new IdleAdapter() };
    await expect(serviceWith({ adapters: { one: shared, two: shared } })).rejects.toThrow(
      '"one" and "two" are one adapter instance; give each tag a provider of its own',
    );
  });

  test.each([[undefined], [null], [{}]])('does not start with the adapter %p', async (value) => {
    await expect(serviceWith({ adapters: { idle: { useFactory: () => value as never } } })).rejects.toThrow(
      'the adapter "idle" is no SandboxAdapter',
    );
  });

  test.each<[given: unknown, said: string]>([
    [undefined, 'not undefined, which a class is when its file and the one of the module import each other'],
    [null, 'not null'],
    ['fake', 'not a string'],
    [{ useclass: IdleAdapter }, 'not an object with useclass'],
    [{ useClass: IdleAdapter }, 'not an object with useClass: give the class itself'],
    [new IdleAdapter(), 'not an instance of IdleAdapter: give it as { useValue }'],
    [{}, 'not an object with nothing'],
  ])('refuses the definition %p', (given, said) => {
    expect(() => SandboxModule.forRoot({ adapters: { idle: given as AdapterDefinition } })).toThrow(
      `SandboxModule: adapters.idle: expected a class, { useExisting }, { useValue } or { useFactory }, ${said}`,
    );
  });

  test('refuses forRootAsync without a factory', () => {
    for (const options of [{}, { useClass: IdleAdapter }, undefined] as unknown as SandboxModuleAsyncOptions[]) {
      expect(() => SandboxModule.forRootAsync(options)).toThrow('"useFactory" is missing');
    }
  });

  test('cannot be imported bare, except where it is global', async () => {
    const compile = (imports: NonNullable<Parameters<typeof Module>[0]['imports']>): Promise<unknown> =>
      Test.createTestingModule({ imports }).compile();
    await expect(compile([SandboxModule])).rejects.toThrow('import SandboxModule.forRoot() or forRootAsync()');
    await expect(compile([SandboxModule, SandboxModule.forRoot()])).rejects.toThrow('isGlobal: true');
    await expect(compile([SandboxModule, SandboxModule.forRoot({ isGlobal: true })])).resolves.toBeDefined();
  });

  test('lets the telemetry that another module makes global see every call', async () => {
    const seen: unknown[] = [];
    class RecordingTelemetry extends SandboxTelemetry {
      override observe(call: object): void {
        seen.push(call);
      }
    }
    @Global()
    @Module({ providers: [{ provide: SandboxTelemetry, useClass: RecordingTelemetry }], exports: [SandboxTelemetry] })
    class TelemetryModule {}
    const app = await Test.createTestingModule({
      imports: [SandboxModule.forRoot({ adapters: { one: IdleAdapter, two: IdleAdapter } }), TelemetryModule],
    }).compile();
    await app.get(SandboxService).listAllNames('one');
    await app.get<SandboxAdapter>(getSandboxAdapterToken('two')).create('x');
    expect(seen).toEqual([
      { provider: 'one', operation: 'listAllNames' },
      { provider: 'two', operation: 'create' },
    ]);
  });

  test('is global only when asked', async () => {
    @Module({ providers: [{ provide: 'user', inject: [SandboxService], useFactory: (s: SandboxService) => s }] })
    class UserModule {}
    const compile = (isGlobal?: boolean): Promise<unknown> =>
      Test.createTestingModule({ imports: [SandboxModule.forRoot({ isGlobal }), UserModule] }).compile();
    await expect(compile(true)).resolves.toBeDefined();
    await expect(compile()).rejects.toThrow(/SandboxService/);
  });
});

describe('the settings of SandboxModule', () => {
  test('come from options before the environment before defaults', async () => {
    expect((await settingsWith({})).retryBaseMs).toBe(250);
    process.env['SANDBOX_RETRY_BASE_MS'] = '40';
    expect((await settingsWith({ retryBaseMs: null })).retryBaseMs).toBe(40);
    expect((await settingsWith({ retryBaseMs: 7 })).retryBaseMs).toBe(7);
  });

  test.each([undefined, null, {}])('are the defaults when a factory gives %p', async (given) => {
    const app = await Test.createTestingModule({
      imports: [SandboxModule.forRootAsync({ useFactory: () => given as object })],
    }).compile();
    expect(app.get(SandboxSettings).retryBaseMs).toBe(250);
  });

  test('keep the application from starting when their factory fails', async () => {
    const useFactory = (): Promise<never> => Promise.reject(new Error('no vault'));
    const compiled = Test.createTestingModule({ imports: [SandboxModule.forRootAsync({ useFactory })] }).compile();
    await expect(compiled).rejects.toThrow('no vault');
  });

  test('can come from a factory, beside a ConfigModule of the host', async () => {
    const app = await Test.createTestingModule({
      imports: [
        ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true, load: [() => ({ retry: '70' })] }),
        SandboxModule.forRootAsync({
          inject: [ConfigService],
          useFactory: async (config: ConfigService) => ({ retryBaseMs: config.get('retry') }),
          adapters: { idle: IdleAdapter },
        }),
      ],
    }).compile();
    expect(app.get(SandboxSettings).retryBaseMs).toBe(70);
    expect(app.get(SandboxService).providers).toEqual(['idle']);
  });

  test('see what a ConfigModule of the host has loaded', async () => {
    const app = await Test.createTestingModule({
      imports: [
        SandboxModule.forRoot(),
        ConfigModule.forRoot({ ignoreEnvFile: true, validate: () => ({ SANDBOX_RETRY_BASE_MS: 90 }) }),
      ],
    }).compile();
    expect(app.get(SandboxSettings).retryBaseMs).toBe(90);
  });

  test('and so do those of the hosted adapters, whose options a host may provide instead', async () => {
    const loaded = { SPRITES_CHECKPOINT_CREATION_ENABLED: 'true' };
    const config = ConfigModule.forRoot({ ignoreEnvFile: true, validate: () => loaded });
    const sprites = async (...imports: NonNullable<ModuleMetadata['imports']>): Promise<SandboxAdapter> => {
      const module = SandboxModule.forRoot({ imports });
      const app = await Test.createTestingModule({ imports: [module, config] }).compile();
      return app.get<SandboxAdapter>(getSandboxAdapterToken('sprites'));
    };
    const options = {
      provide: SpritesOptions,
      useFactory: () => new SpritesOptions({ checkpointCreationEnabled: false }),
    };
    @Module({ providers: [options], exports: [SpritesOptions] })
    class OptionsModule {}
    expect((await sprites()).capabilities.has('checkpoint')).toBe(true);
    expect((await sprites(OptionsModule)).capabilities.has('checkpoint')).toBe(false);
  });

  test('keep the application from starting when they are wrong', async () => {
    process.env['SANDBOX_RETRY_BASE_MS'] = 'soon';
    await expect(settingsWith({})).rejects.toThrow(
      'Invalid SandboxSettings:\n  - retryBaseMs must be an integer number (from SANDBOX_RETRY_BASE_MS)',
    );
  });
});
