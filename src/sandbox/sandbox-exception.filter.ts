import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { SandboxError } from '#libs/contract';
import { statusOf } from './http-status.js';

/** The JSON body of a response to a call that failed. */
export interface SandboxErrorBody extends Pick<SandboxError, 'code' | 'detail' | 'message' | 'effect'> {
  readonly statusCode: number;
}

/**
 * Answers HTTP requests whose handler failed with a `SandboxError`: the status of its code, `Retry-After` where the
 * provider said when, and {@link SandboxErrorBody}; never its cause. A response that had begun is cut off, since one
 * that ends in order would look whole. What is answered with 500 or more is logged, without message and cause. In other
 * contexts the error goes on to whoever handles errors there.
 *
 * Works on every HTTP adapter, as `{ provide: APP_FILTER, useClass: SandboxExceptionFilter }`, with `@UseFilters`, or
 * as `app.useGlobalFilters(new SandboxExceptionFilter(app.get(HttpAdapterHost)))`.
 */
@Catch(SandboxError)
export class SandboxExceptionFilter implements ExceptionFilter<SandboxError> {
  readonly #log = new Logger(SandboxExceptionFilter.name);

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(error: SandboxError, host: ArgumentsHost): void {
    if (host.getType() !== 'http') throw error;
    if (statusOf(error) >= 500) this.#log.warn(lineFor(error));
    const { httpAdapter } = this.adapterHost;
    const response: unknown = host.switchToHttp().getResponse();
    if (httpAdapter.isHeadersSent(response)) return cutOff(response);
    const { retryAfterMs } = error;
    // What is no number of seconds is no header.
    if (retryAfterMs !== undefined && Number.isFinite(retryAfterMs)) {
      httpAdapter.setHeader(response, 'Retry-After', String(Math.max(0, Math.ceil(retryAfterMs / 1_000))));
    }
    httpAdapter.reply(response, bodyOf(error), statusOf(error));
  }
}

function bodyOf(error: SandboxError): SandboxErrorBody {
  const { code, detail, message, effect } = error;
  return { statusCode: statusOf(error), code, ...(detail !== undefined && { detail }), message, effect };
}

function lineFor({ provider, operation, code, detail, effect }: SandboxError): string {
  const call = [provider, operation].filter((part) => part !== undefined).join(' ') || 'a call';
  return `${call} failed: ${code}${detail === undefined ? '' : ` / ${detail}`}, effect ${effect}`;
}

interface Destroyable {
  destroy?(): unknown;
}

/** Express hands out Node's response itself, Fastify a wrapper around it. */
function cutOff(response: unknown): void {
  const { raw = response as Destroyable } = response as { readonly raw?: Destroyable };
  raw.destroy?.();
}
