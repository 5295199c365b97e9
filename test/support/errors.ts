import { SandboxError } from '#libs/contract';

/** What a promise was rejected with, in the three words that callers go by; its value when it was not. */
export async function refusal(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    return { resolved: await promise };
  } catch (error) {
    return words(error);
  }
}

/** `code`, `detail` and `effect` of a SandboxError; anything else as it is. */
export function words(error: unknown): unknown {
  if (!(error instanceof SandboxError)) return error;
  return { code: error.code, detail: error.detail, effect: error.effect };
}
