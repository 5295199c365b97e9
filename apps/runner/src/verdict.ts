import { CLOSE } from '#libs/protocol';
import type { LinkEnd } from './dial.js';

export interface Verdict {
  /** The platform will not have this daemon: dialling again is of no use. */
  readonly permanent: boolean;
  readonly message: string;
}

/** What an end of the link means for whoever runs the daemon. `url` is the platform's base URL. */
export function verdict(end: LinkEnd, url: string): Verdict {
  if (end.kind === 'unreachable') {
    const hint = end.problem === 'EPROTO' ? '; it may speak http there and no https' : '';
    return later(`cannot reach the platform at ${url}: ${end.problem}${hint}`);
  }
  if (end.kind === 'refused') return refused(end.status, end.says, `the platform at ${url}`);
  if (end.code === CLOSE.deleted) return { permanent: true, message: `the platform at ${url} has deleted this runner` };
  if (end.code === CLOSE.duplicate) {
    return later('another daemon with the same token is connected to the platform, or was until a moment ago');
  }
  if (end.code === CLOSE.goingAway) return later(`the platform at ${url} is shutting down`);
  return later(`lost the link to the platform at ${url} (${end.code}${end.reason && ` ${end.reason}`})`);
}

function refused(status: number, says: string, platform: string): Verdict {
  const tail = says && !says.startsWith('<') ? `; it says: ${says}` : '';
  switch (status) {
    case 400:
      return { permanent: true, message: `${platform} did not accept this daemon's introduction (400)${tail}` };
    case 401:
      return {
        permanent: true,
        message: `${platform} refused the token (401): take a fresh token for this runner from the platform${tail}`,
      };
    case 403:
      return { permanent: true, message: `${platform} does not let this runner in (403)${tail}` };
    case 404:
      return {
        permanent: true,
        message: `${platform} does not know this runner (404): check the URL, and that the runner was not deleted${tail}`,
      };
    case 409:
      return later(`${platform} has another daemon connected as this runner (409)${tail}`);
    default:
      if (status >= 300 && status < 400) {
        return later(`${platform} answered with a redirect (${status}), which is not followed: give its real URL`);
      }
      return later(`${platform} answered ${status}${tail}`);
  }
}

function later(message: string): Verdict {
  return { permanent: false, message };
}
