import { IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { PROTOCOL_LIMITS } from '#libs/protocol';
import { Setting } from '../common/index.js';

const DAY = 86_400_000;

/** What {@link RunnerModule} can be told; also the token of the resolved values. Times are in milliseconds. */
export class RunnerSettings {
  /**
   * Who may dial in, for the default authenticator: `<runner uuid>:<token>` entries separated by commas, spaces or
   * newlines. A token has at least 16 characters; a runner may have several. Environment: `RUNNER_TOKENS`.
   *
   * @default none: everyone is refused
   */
  @Setting('RUNNER_TOKENS', 'text')
  @IsOptional()
  @IsString()
  readonly tokens?: string;

  /** The time between two heartbeats to `RunnerHost`. Environment: `RUNNER_HEARTBEAT_INTERVAL_MS`. @default 20 000 */
  @Setting('RUNNER_HEARTBEAT_INTERVAL_MS', 'number')
  @IsInt()
  @Min(10)
  @Max(DAY)
  readonly heartbeatIntervalMs: number = 20_000;

  /** The time between two pings. Environment: `RUNNER_PING_INTERVAL_MS`. @default 20 000 */
  @Setting('RUNNER_PING_INTERVAL_MS', 'number')
  @IsInt()
  @Min(10)
  @Max(DAY)
  readonly pingIntervalMs: number = PROTOCOL_LIMITS.pingIntervalMs;

  /**
   * After this long without a byte from the daemon its connection is dropped. Make it more than twice `pingIntervalMs`,
   * so that one ping may be lost. Environment: `RUNNER_SILENCE_MS`.
   *
   * @default 45 000
   */
  @Setting('RUNNER_SILENCE_MS', 'number')
  @IsInt()
  @Min(10)
  @Max(DAY)
  readonly silenceMs: number = PROTOCOL_LIMITS.silenceMs;

  /**
   * How long a connected daemon may take to prove that it is alive when another one dials under its id. Environment:
   * `RUNNER_PROBE_TIMEOUT_MS`.
   *
   * @default 5 000
   */
  @Setting('RUNNER_PROBE_TIMEOUT_MS', 'number')
  @IsInt()
  @Min(10)
  @Max(DAY)
  readonly probeTimeoutMs: number = PROTOCOL_LIMITS.probeTimeoutMs;

  /** How long most requests wait for a daemon's reply. Environment: `RUNNER_REQUEST_TIMEOUT_MS`. @default 30 000 */
  @Setting('RUNNER_REQUEST_TIMEOUT_MS', 'number')
  @IsInt()
  @Min(10)
  @Max(DAY)
  readonly requestTimeoutMs: number = PROTOCOL_LIMITS.requestTimeoutMs;

  /**
   * How long pending calls get at shutdown before connections close with 1001. Spawned commands are not waited for:
   * their readers end with `runner_disconnected`, and may attach again. Environment: `RUNNER_DRAIN_MS`. @default 40 000
   */
  @Setting('RUNNER_DRAIN_MS', 'number')
  @IsInt()
  @Min(0)
  @Max(DAY)
  readonly drainMs: number = PROTOCOL_LIMITS.drainMs;

  /**
   * How many dials may wait for the authenticator at once; one more is refused with 503. Environment:
   * `RUNNER_MAX_PENDING_AUTHENTICATIONS`.
   *
   * @default 512
   */
  @Setting('RUNNER_MAX_PENDING_AUTHENTICATIONS', 'number')
  @IsInt()
  @Min(1)
  @Max(100_000)
  readonly maxPendingAuthentications: number = 512;
}
