import { flag, stringMap, wholeNumber, type Body } from './body.js';
import { networkOf, type NetworkPolicy } from './network.js';
import type { E2bSettings } from './options.js';
import { refusal } from './refusals.js';

/** What a create asks for. */
export interface CreateRequest {
  readonly templateId: string;
  readonly timeoutSeconds: number;
  readonly autoPause: boolean;
  readonly autoPauseMemory: boolean;
  readonly autoResume: boolean;
  readonly secure: boolean;
  readonly allowInternetAccess: boolean | undefined;
  readonly network: NetworkPolicy | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly envVars: Readonly<Record<string, string>>;
}

export const CREATE_FIELDS = [
  'templateID',
  'timeout',
  'autoPause',
  'autoPauseMemory',
  'autoResume',
  'allow_internet_access',
  'network',
  'metadata',
  'envVars',
  'volumeMounts',
  'mcp',
  'iam',
];

/** @throws {Refusal} 400 */
export function createRequestOf(body: Body, version: 'v1' | 'v2', settings: E2bSettings): CreateRequest {
  const { templateID: templateId, network } = body;
  if (typeof templateId !== 'string' || templateId === '') {
    throw refusal(400, 'validation error: property "templateID" is missing');
  }
  const secure = version === 'v2' || flag(body, 'secure') === true;
  const policy = network === undefined || network === null ? undefined : networkOf(network);
  if (policy?.allowPublicTraffic === false && !secure) throw refusal(400, 'a private ingress needs a secured sandbox');
  const autoPause = flag(body, 'autoPause') ?? false;
  const autoPauseMemory = flag(body, 'autoPauseMemory') ?? true;
  const autoResume = flag(Object(body['autoResume']) as Body, 'enabled') ?? false;
  if (!autoPauseMemory && (!autoPause || autoResume)) {
    throw refusal(400, 'autoPauseMemory false needs autoPause and excludes autoResume');
  }
  return {
    templateId,
    timeoutSeconds: timeoutOf(wholeNumber(body, 'timeout') ?? (version === 'v1' ? 15 : 300), settings),
    autoPause,
    autoPauseMemory,
    autoResume,
    secure,
    allowInternetAccess: flag(body, 'allow_internet_access'),
    network: policy,
    metadata: stringMap(body, 'metadata'),
    envVars: stringMap(body, 'envVars') ?? {},
  };
}

/** @throws {Refusal} 400 */
export function timeoutOf(seconds: number, { maxLengthSeconds }: E2bSettings): number {
  if (seconds <= 0) throw refusal(400, 'Timeout must be greater than 0');
  if (seconds <= maxLengthSeconds) return seconds;
  throw refusal(400, `Timeout cannot be greater than ${maxLengthSeconds / 3600} hours`);
}
