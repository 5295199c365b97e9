import { isAbsolute, normalize, resolve } from 'node:path';
import type { Exchange } from '../kit/exchange.js';
import { fsFailure } from './fs-failure.js';
import { VM_HEADERS } from './vm.js';
import type { Sprite } from './sprite.js';

/** One call on the files of a sprite: what its query and its body, if it has one, ask for. */
export class FsCall {
  constructor(
    readonly exchange: Exchange,
    readonly sprite: Sprite,
    private readonly body: Readonly<Record<string, unknown>> = {},
  ) {}

  text(name: string): string | undefined {
    const value = this.exchange.query.get(name) ?? this.body[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  flag(name: string): boolean {
    const value = this.exchange.query.get(name) ?? this.body[name];
    return value === true || value === 'true';
  }

  number(name: string): number | undefined {
    const value = this.body[name];
    return typeof value === 'number' ? value : undefined;
  }

  /** A path as the sandbox names it. @throws {Refusal} 400 without one */
  path(name = 'path'): string {
    const path = this.text(name);
    if (path === undefined) throw fsFailure('EINVAL', '');
    const from = this.text('workingDir') ?? '/home/sprite';
    return isAbsolute(path) ? normalize(path) : resolve('/', from, path);
  }

  /** Where it lies on this machine. */
  async locate(path: string, follow = true): Promise<string> {
    return await this.sprite.disk.resolve(path, undefined, follow);
  }

  /** Octal digits. @throws {Refusal} 400 */
  mode(): number | undefined {
    const text = this.text('mode');
    if (text === undefined) return undefined;
    if (!/^[0-7]{3,4}$/.test(text)) throw fsFailure('EINVAL', this.path());
    return Number.parseInt(text, 8);
  }

  async answer(json: Readonly<Record<string, unknown>>): Promise<void> {
    await this.exchange.reply({ status: 200, headers: VM_HEADERS, json });
  }
}

/** Four octal digits. */
export function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
