import { describe, expect, test } from '@jest/globals';
import { connectPeer, recordingSink, turns } from './connected-peer.js';
import { FakeAdapter } from './fake-adapter.js';
import { FAKE_LIMITS } from './fake-limits.js';
import { LoopbackSocket, loopback } from './loopback.js';
import { ScriptedPeer } from './scripted-peer.js';

describe('a scripted peer', () => {
  test('says to a connection what the test tells it to', async () => {
    const { peer, connection } = connectPeer();
    expect(peer).toBeInstanceOf(ScriptedPeer);
    connection.start();
    await turns();
    peer.onRequest = (request) => {
      peer.ok(request, { session_id: 's-1' });
      peer.out('stdout', 's-1', 'hello', { offset: 0 });
      peer.exit('s-1', 3);
    };
    const sink = recordingSink();
    await connection.open('spawn', { name: 'box', cmd: 'sh', args: [] }, sink);
    await turns();
    expect(peer.of('spawn')).toEqual([expect.objectContaining({ op: 'spawn', cmd: 'sh' })]);
    expect(sink.seen).toEqual([
      ['stdout', 0, 'hello'],
      ['exit', 3],
    ]);
    peer.hangUp();
  });
});

test('a pair of sockets in memory is two ends of one kind', () => {
  const [one, two] = loopback();
  expect([one, two]).toEqual([expect.any(LoopbackSocket), expect.any(LoopbackSocket)]);
  expect([one.peer, two.peer]).toEqual([two, one]);
});

test('limits of a fake are those of the table unless it is given others', async () => {
  const output = 'x'.repeat(FAKE_LIMITS.frameBytes + 1);
  const sizes = async (fake: FakeAdapter): Promise<number[]> => {
    const found: number[] = [];
    const command = await fake.spawn(await fake.create('box'), `out:${output}`);
    await command.forEach(({ data }) => void found.push(data.byteLength));
    return found;
  };
  expect(await sizes(new FakeAdapter())).toEqual([FAKE_LIMITS.frameBytes, 1]);
  expect(await sizes(new FakeAdapter({ limits: { frameBytes: output.length } }))).toEqual([output.length]);
});
