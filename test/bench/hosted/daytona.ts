import { randomBytes } from 'node:crypto';
import { DaytonaAdapter, DaytonaOptions } from 'nestjs-sandbox/daytona';
import { DaytonaEmulator } from 'nestjs-sandbox/emulators';
import { enclosed } from '../../../src/adapters/daytona/daytona.execute.js';
import { PIECES, pollProgram, startProgram } from '../../../src/adapters/daytona/daytona.programs.js';
import { LookReader } from './look-reader.js';
import type { Access, CommandByHand, HostedProvider } from './provider.js';

/** Seconds that a start of an exec and a look wait for output. */
const EXEC_HOLD = 1;
const LOOK_HOLD = 8;
/** Beyond those, for the service to give up. */
const MARGIN = 10;

/** Journals of ended commands that stay in the sandbox. */
const KEPT = 100;

const READ = 'nestjs-sandbox (read)';

interface Sandbox {
  readonly id: string;
  readonly toolboxProxyUrl: string;
}

export const daytona: HostedProvider = {
  name: 'daytona',
  async startEmulator() {
    const emulator = await DaytonaEmulator.start();
    const { url, token: key, calls } = emulator;
    return { url, key, calls, close: () => emulator.close() };
  },
  adapter: ({ url, key }) => new DaytonaAdapter(new DaytonaOptions({ apiUrl: url, apiKey: key })),
  async byHand(access, { name }) {
    const client = new Client(access, name);
    return (command) => client.run(command);
  },
  isPoll: ({ headers }) => headers['user-agent'] === READ,
};

/** Each command is a program that starts it and programs that look at its journal, one after the other. */
class Client {
  private readonly headers: Readonly<Record<string, string>>;
  private found: Promise<string> | undefined;
  /** The next command removes what the last exec has left. */
  private left: string[] = [];

  constructor(
    private readonly access: Access,
    private readonly name: string,
  ) {
    this.headers = { authorization: `Bearer ${access.key}` };
  }

  async run({ as, cmd, args, take }: CommandByHand): Promise<number> {
    const nonce = hex();
    const once = as === 'exec';
    const program = startProgram({
      command: { nonce, cmd, args, env: [], stdin: false, detachable: false, keep: KEPT },
      tag: `nestjs-sandbox:c:${nonce}`,
      title: titleOf([cmd, ...args].join(' ')),
      owner: hex(),
      rubbish: this.left.splice(0),
      ...(once && { holdSeconds: EXEC_HOLD }),
    });
    const reader = new LookReader(take);
    reader.look(await this.execute('nestjs-sandbox (start)', program, once ? EXEC_HOLD : 0));
    for (let holdSeconds = 0; reader.exitCode === undefined; holdSeconds = LOOK_HOLD) {
      const from = { ...reader.offsets, credits: PIECES, takeOver: holdSeconds === 0, holdSeconds };
      reader.look(await this.execute(READ, pollProgram(nonce, reader.pid, from), LOOK_HOLD));
    }
    if (once) this.left.push(nonce);
    return reader.exitCode;
  }

  private async execute(agent: string, program: string, seconds: number): Promise<string> {
    this.found ??= this.find();
    const response = await fetch(`${await this.found}/process/execute`, {
      method: 'POST',
      headers: { ...this.headers, 'content-type': 'application/json', 'user-agent': agent },
      body: JSON.stringify({ command: enclosed(program), timeout: seconds + MARGIN }),
    });
    if (response.status !== 200) throw new Error(`${agent} was answered ${response.status}`);
    return ((await response.json()) as { readonly result: string }).result;
  }

  /** Where the toolbox of the sandbox is, which the adapter finds out with the first command too. */
  private async find(): Promise<string> {
    const { headers } = this;
    const answer = await fetch(`${this.access.url}/sandbox/${this.name}`, { headers });
    const { id, toolboxProxyUrl } = (await answer.json()) as Sandbox;
    const toolbox = `${toolboxProxyUrl}/${id}`;
    await (await fetch(`${toolbox}/user-home-dir`, { headers })).json();
    return toolbox;
  }
}

function hex(): string {
  return randomBytes(16).toString('hex');
}

function titleOf(words: string): string {
  return words.length > 200 ? `${words.slice(0, 200)}…` : words;
}
