import { describe, expect, test } from '@jest/globals';
import { loopback, type LoopbackSocket } from './loopback.js';

function record(socket: LoopbackSocket): string[] {
  const events: string[] = [];
  socket.listen({
    text: (text) => events.push(text),
    binary: () => events.push('binary'),
    pong: () => events.push('pong'),
    closed: (code, reason) => events.push(`closed ${code} ${reason}`),
  });
  return events;
}

async function turns(count = 10): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}

describe('loopback', () => {
  test('delivers in order, one frame per turn, and says when each has left', async () => {
    const [a, b] = loopback();
    const events = record(b);
    const flushed: number[] = [];
    a.send('1', () => flushed.push(1));
    a.send('22', () => flushed.push(2));
    expect([events, a.bufferedAmount]).toEqual([[], 3]);
    await turns(1);
    expect([events, a.bufferedAmount, flushed]).toEqual([['1'], 2, [1]]);
    await turns(1);
    expect([events, a.bufferedAmount, flushed, b.bytesRead]).toEqual([['1', '22'], 0, [1, 2], 3]);
  });

  test('a paused end takes nothing until it resumes', async () => {
    const [a, b] = loopback();
    const events = record(b);
    b.pause();
    a.send('x');
    await turns();
    expect([events, a.bufferedAmount, b.bytesRead]).toEqual([[], 1, 0]);
    b.resume();
    await turns();
    expect(events).toEqual(['x']);
  });

  test('pings are answered, and close comes behind what was sent', async () => {
    const [a, b] = loopback();
    const [atA, atB] = [record(a), record(b)];
    a.ping();
    await turns();
    a.send('last');
    a.close(4404, 'gone');
    a.send('dropped');
    await turns();
    expect(atA).toEqual(['pong', 'closed 4404 gone']);
    expect(atB).toEqual(['last', 'closed 4404 gone']);
  });

  test('cut loses what is under way and tells both once', async () => {
    const [a, b] = loopback();
    const [atA, atB] = [record(a), record(b)];
    a.send('lost');
    a.cut();
    b.cut();
    await turns();
    expect([atA, atB]).toEqual([['closed 1006 '], ['closed 1006 ']]);
  });

  test('a stalled end answers nothing, and only who terminates is told', async () => {
    const [a, b] = loopback();
    const [atA, atB] = [record(a), record(b)];
    b.stall();
    a.ping();
    a.send('x');
    await turns();
    expect([atA, atB]).toEqual([[], []]);
    a.terminate();
    await turns();
    expect([atA, atB]).toEqual([['closed 1006 '], []]);
  });
});
