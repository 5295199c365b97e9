/** One step of a scripted command. */
export type Instruction =
  | { readonly does: 'print'; readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array }
  | { readonly does: 'exit'; readonly code: number }
  | { readonly does: 'stay' }
  | { readonly does: 'drop' };

const EXIT_CODE = /^(?:0|[1-9]\d{0,2})$/;
const VOCABULARY = 'out:<data>, err:<data>, exit:<0-255>, stay or drop';

/**
 * The words that a command is played from. The program is a word like any other, or else a name that stands for
 * itself before words: `out:a exit:3` and `sh out:a exit:3` say the same.
 */
export function wordsOf(cmd: string, args: readonly string[]): readonly string[] {
  const isName = args.length > 0 && !cmd.includes(':') && parseInstruction(cmd) === undefined;
  return isName ? args : [cmd, ...args];
}

/** What `words` do, or why nothing of them does: a word that is no instruction keeps the command from starting. */
export function parseScript(words: readonly string[]): readonly Instruction[] | { readonly startError: string } {
  const script: Instruction[] = [];
  for (const [index, word] of words.entries()) {
    const instruction = parseInstruction(word);
    // The word itself may be data that has no place in an error.
    if (instruction === undefined) return { startError: `word ${index + 1} is no instruction: expected ${VOCABULARY}` };
    script.push(instruction);
  }
  return script;
}

function parseInstruction(word: string): Instruction | undefined {
  if (word === 'stay' || word === 'drop') return { does: word };
  const colon = word.indexOf(':');
  const [verb, argument] = [word.slice(0, Math.max(0, colon)), word.slice(colon + 1)];
  if (verb === 'out') return { does: 'print', stream: 'stdout', data: Buffer.from(argument) };
  if (verb === 'err') return { does: 'print', stream: 'stderr', data: Buffer.from(argument) };
  if (verb === 'exit' && EXIT_CODE.test(argument) && Number(argument) <= 255) {
    return { does: 'exit', code: Number(argument) };
  }
  return undefined;
}
