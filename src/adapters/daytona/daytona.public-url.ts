import type { SandboxHandle } from '#libs/contract';
import { BoundedMap } from '../common/bounded-map.js';
import type { Deadline } from '../common/deadline.js';
import { asObject } from '../common/json.js';
import { sandboxPath, type DaytonaClient } from './daytona.client.js';
import { isNotFound, malformedReply, partError } from './daytona.errors.js';
import { getSandbox, missing } from './daytona.find.js';

/** The longest that the service signs for: a day. One is given again for the first half of it. */
const LIFETIME_SECONDS = 86_400;
const FRESH_MS = (LIFETIME_SECONDS * 1000) / 2;
const MAX_KEPT = 1000;

interface SignedUrl {
  readonly url: string;
  readonly signedAtMs: number;
}

/** Signed URLs, which a browser can open without a header. Whether something listens there is not asked. */
export class PublicUrls {
  readonly #client: DaytonaClient;
  readonly #kept = new BoundedMap<string, SignedUrl>(MAX_KEPT);

  constructor(client: DaytonaClient) {
    this.#client = client;
  }

  async find(handle: SandboxHandle, port: number, deadline: Deadline): Promise<string> {
    const { id } = await getSandbox(this.#client, handle, deadline);
    const key = `${id}:${port}`;
    const kept = this.#kept.get(key);
    if (kept && performance.now() - kept.signedAtMs < FRESH_MS) return kept.url;
    const signed = {
      url: await this.#sign({ ...handle, instanceId: id }, port, deadline),
      signedAtMs: performance.now(),
    };
    this.#kept.set(key, signed);
    return signed.url;
  }

  async #sign(
    handle: SandboxHandle & { readonly instanceId: string },
    port: number,
    deadline: Deadline,
  ): Promise<string> {
    const path = sandboxPath(handle.instanceId, 'ports', String(port), 'signed-preview-url');
    const query: [string, string][] = [['expiresInSeconds', String(LIFETIME_SECONDS)]];
    const answer = await this.#client.sendAgain({ method: 'GET', path, query, deadline });
    if (isNotFound(answer)) throw await missing(this.#client, handle, answer, deadline);
    if (!answer.ok) throw partError(answer);
    const url = asObject(answer.json())?.['url'];
    if (typeof url !== 'string' || !/^https?:\/\/[^\s]+$/.test(url) || !URL.canParse(url))
      throw malformedReply('the URL');
    return url;
  }
}
