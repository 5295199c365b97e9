import type { DaemonHandler, Handled, RequestBody, RequestOp } from '#libs/protocol';

/**
 * What each request does. Called in the order of the frames; a handler that must keep that order calls the keeper
 * before it awaits anything.
 */
export type Handlers = {
  readonly [Op in RequestOp]: (body: RequestBody<Op>, requestId: number) => Promise<Handled>;
};

export function dispatch(handlers: Handlers): DaemonHandler {
  return ({ id, op, body }) => (handlers[op] as (body: unknown, requestId: number) => Promise<Handled>)(body, id);
}
