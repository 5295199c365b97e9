import type { Sandbox } from './sandbox.js';

const CLIENT_ID = '6532622b';
const SIZE = { cpuCount: 2, memoryMB: 512, diskSizeMB: 1024 } as const;

/** What a create, a connect and a resume answer. */
export function sandboxOf(sandbox: Sandbox): Record<string, unknown> {
  const { accessToken, trafficToken, settings } = sandbox;
  return {
    ...identity(sandbox),
    envdVersion: settings.envdVersion,
    ...(accessToken !== undefined && { envdAccessToken: accessToken }),
    ...(trafficToken !== undefined && { trafficAccessToken: trafficToken }),
    ...(settings.domain !== undefined && { domain: settings.domain }),
  };
}

/** An entry of the listing. */
export function listedOf(sandbox: Sandbox): Record<string, unknown> {
  const { lifecycle, settings, request } = sandbox;
  return {
    ...identity(sandbox),
    startedAt: lifecycle.startedAt.toISOString(),
    endAt: lifecycle.endAt.toISOString(),
    envdVersion: settings.envdVersion,
    ...SIZE,
    ...(request.metadata && { metadata: request.metadata }),
    state: lifecycle.shown,
  };
}

export function detailOf(sandbox: Sandbox): Record<string, unknown> {
  const { accessToken, allowInternetAccess, network, lifecycle, settings, request } = sandbox;
  const domain = lifecycle.shown === 'paused' ? null : settings.domain;
  return {
    ...listedOf(sandbox),
    ...(accessToken !== undefined && { envdAccessToken: accessToken }),
    ...(allowInternetAccess !== undefined && { allowInternetAccess }),
    ...(domain !== undefined && { domain }),
    ...(network && { network }),
    lifecycle: { autoResume: request.autoResume, onTimeout: request.autoPause ? 'pause' : 'kill' },
  };
}

function identity({ id, template, settings }: Sandbox): Record<string, unknown> {
  return {
    templateID: template.id,
    ...(template.alias !== undefined && { alias: template.alias }),
    [settings.alternatives.idSpelling]: id,
    clientID: CLIENT_ID,
  };
}
