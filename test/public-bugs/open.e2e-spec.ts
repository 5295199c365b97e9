import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { runnerSandboxName } from '../../src/runner/index.js';
import { createPlatform } from '../../apps/platform/src/create-platform.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { REPOSITORY } from '../support/dist.js';
import { TestApp } from '../support/nest-app.js';
import { appeared, sleepMarker } from '../support/processes.js';
import { RUNNER_ID, RUNNER_TOKEN } from '../support/runners.js';
import { ScriptedPlatform } from '../support/scripted-platform.js';

/*
 * What is not held yet. Each of these fails for the reason in its title and turns red when that has gone: then it gives
 * way to a test of the fault itself.
 */

describe('several platform nodes', () => {
  /** What the package can be imported as. */
  function entries(): string[] {
    const text = readFileSync(join(REPOSITORY, 'package.json'), 'utf8');
    return Object.keys((JSON.parse(text) as { exports: object }).exports);
  }

  test.failing('bug 17: a very fast command is complete for a caller on another node (open: a clustered host)', () => {
    expect(entries()).toContain('./nats');
  });

  test.failing(
    'bug 54: after a restart of its daemon no node goes on calling the old one (open: a clustered host)',
    () => {
      expect(entries()).toContain('./nats');
    },
  );

  test.failing(
    'bug 55: a node that dies is not waited for, and its entries are not believed (open: a clustered host)',
    () => {
      expect(entries()).toContain('./nats');
    },
  );

  test.failing('bug 58: a frozen node does not hold up the subscribers of others (open: a clustered host)', () => {
    expect(entries()).toContain('./nats');
  });
});

describe('a daemon that is killed', () => {
  let app: TestApp;
  const daemons: DaemonProcess[] = [];

  beforeEach(async () => {
    app = await TestApp.start();
  });

  afterEach(async () => {
    for (const daemon of daemons.splice(0).toReversed()) await daemon.dispose();
    await app.close();
  });

  async function launch(root?: string): Promise<DaemonProcess> {
    const daemon = await DaemonProcess.launch({ url: app.url, ...(root !== undefined && { root }) });
    daemons.push(daemon);
    await app.online(RUNNER_ID);
    return daemon;
  }

  test.failing('bug 50: its successor attaches to what ran (open: sessions that outlive their daemon)', async () => {
    const first = await launch();
    const handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    const marker = sleepMarker();
    const command = await app.sandboxes.spawn(handle, 'sleep', [marker], { detachable: true });
    await appeared(marker);
    await first.kill();
    await app.offline(RUNNER_ID);
    await launch(first.root);
    const attached = await app.sandboxes.attach(handle, command.sessionId as string);
    await attached.stop();
    expect(await app.sandboxes.listSessions(handle)).toHaveLength(1);
  });
});

test.failing(
  'bug 46: the platform closes the socket of a token that was revoked (open: revocation in the platform)',
  async () => {
    const platform = await createPlatform({ logLevels: ['fatal'], runnerTokens: `${RUNNER_ID}:${RUNNER_TOKEN}` });
    try {
      const { status } = await fetch(`${platform.url}/api/runners/${RUNNER_ID}`, { method: 'DELETE' });
      expect(status).not.toBe(404);
    } finally {
      await platform.app.close();
    }
  },
);

test.failing(
  'bug 64: stdin that is repeated after a reconnect is applied once (open: version 2 of the protocol)',
  async () => {
    const platform = await ScriptedPlatform.listen();
    const daemon = await DaemonProcess.launch({ url: platform.url, name: 'offers' });
    try {
      const peer = await platform.peer('offers');
      expect(peer.request.headers['sec-websocket-protocol']).toBeDefined();
    } finally {
      await daemon.dispose();
      await platform.close();
    }
  },
);
