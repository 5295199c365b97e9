import { IsInt, Max, Min } from 'class-validator';
import { Setting } from '../common/index.js';

/** What {@link SandboxModule} can be told beside its adapters; also the token of the resolved values. */
export class SandboxSettings {
  /**
   * First step of `SandboxService.withBackoff`, in milliseconds, 1–60 000. Environment: `SANDBOX_RETRY_BASE_MS`.
   *
   * @default 250
   */
  @Setting('SANDBOX_RETRY_BASE_MS', 'number')
  @IsInt()
  @Min(1)
  @Max(60_000)
  readonly retryBaseMs: number = 250;
}
