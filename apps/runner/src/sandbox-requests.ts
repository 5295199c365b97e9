import { SandboxError } from '#libs/contract/core';
import type { SandboxKeeper } from '#libs/process';
import { PROTOCOL_LIMITS } from '#libs/protocol';
import type { Feeds } from './feeds.js';
import type { Handlers } from './handlers.js';

type SandboxOps = 'create' | 'get' | 'destroy' | 'list' | 'suspend' | 'resume' | 'write_file';

const DONE = { result: {} };

/** Requests about sandboxes and their files. */
export function sandboxRequests(keeper: SandboxKeeper, feeds: Pick<Feeds, 'finished'>): Pick<Handlers, SandboxOps> {
  return {
    async create({ name }) {
      await keeper.create(name);
      return DONE;
    },
    async get({ name }) {
      return { result: await keeper.get(name) };
    },
    async destroy({ name }) {
      await keeper.destroy(name);
      await feeds.finished(name);
      return DONE;
    },
    async list() {
      return { result: { names: await keeper.names() } };
    },
    async suspend({ name }) {
      await keeper.suspend(name);
      // The exits of what was stopped go out before the reply.
      await feeds.finished(name);
      return DONE;
    },
    async resume({ name }) {
      await keeper.resume(name);
      return DONE;
    },
    async write_file({ name, path, data, mode }) {
      if (data.length > PROTOCOL_LIMITS.writeFileBytes)
        throw new SandboxError('invalid', { detail: 'request_too_large' });
      await keeper.writeFile(name, path, data, mode);
      return DONE;
    },
  };
}
