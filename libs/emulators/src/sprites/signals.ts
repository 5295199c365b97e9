import { constants } from 'node:os';

/** A signal by its name, with or without `SIG`; `undefined` when there is none of that name. */
export function signalOf(name: string): NodeJS.Signals | undefined {
  const full = name.startsWith('SIG') ? name : `SIG${name}`;
  return full in constants.signals ? (full as NodeJS.Signals) : undefined;
}
