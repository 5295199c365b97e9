// The far end of the bare pipe: runs what it is told and sends its stdout.
import { spawn } from 'node:child_process';
import { WebSocket } from 'ws';

/** As a daemon of ours: output is read while less than this waits on the socket. */
const QUEUE_BYTES = 256 * 1024;

const ws = new WebSocket(process.argv[2] as string, { perMessageDeflate: false });

process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit(0));
ws.on('close', () => process.exit(0));
ws.on('open', () => process.send?.({ ready: true }));
ws.on('message', (message: Buffer) => {
  const { command, args } = JSON.parse(message.toString()) as { command: string; args: string[] };
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let offset = 0;
  child.stdout.on('data', (data: Buffer) => {
    const frame = { stream: 'stdout', session_id: 's-bare', offset, data: data.toString('base64') };
    offset += data.length;
    ws.send(JSON.stringify(frame), () => {
      if (child.stdout.isPaused() && ws.bufferedAmount < QUEUE_BYTES) child.stdout.resume();
    });
    if (ws.bufferedAmount >= QUEUE_BYTES) child.stdout.pause();
  });
  child.on('close', (code) => ws.send(JSON.stringify({ stream: 'exit', session_id: 's-bare', code: code ?? -1 })));
});
