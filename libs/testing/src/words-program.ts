import type { FakeProcess, FakeProgram } from './fake-program.js';
import type { Instruction } from './instruction.js';

const ECHO = Buffer.from('echo:');

/** The program that words are. */
export function wordsProgram(script: readonly Instruction[]): FakeProgram {
  return async (process) => {
    for (const instruction of script) {
      switch (instruction.does) {
        case 'print':
          await process.write(instruction.stream, instruction.data);
          break;
        case 'exit':
          return instruction.code;
        case 'stay':
          await echo(process);
          break;
        case 'drop':
          process.drop();
          return 0;
      }
    }
    return 0;
  };
}

async function echo(process: FakeProcess): Promise<void> {
  if (!process.hasStdin) return new Promise(() => {});
  for await (const piece of process.stdin) await process.write('stdout', Buffer.concat([ECHO, piece]));
}
