import { closeSync, openSync, readSync, readdirSync } from 'node:fs';

const HEAD_BYTES = 128;
const ELF_MAGIC = '\x7fELF';
/** Byte 5 of an ELF header is its byte order, bytes 18 and 19 are its machine. */
const ELF_HEADER_BYTES = 20;
const X86_64 = 62;
const I386 = 3;
const AARCH64 = 183;
const ARM = 40;

/**
 * Whether the kernel would refuse to execute a file for its format. Asked beforehand, because libc then hands the file
 * to `sh`, which ends with an exit of its own. Scripts, and everything on macOS, are left to the kernel.
 */
export function isForeignFormat(path: string): boolean {
  if (process.platform !== 'linux') return false;
  const head = firstBytes(path);
  if (head === undefined) return false; // executable, but not readable
  const foreign = head.toString('latin1').startsWith(ELF_MAGIC) ? !isNativeElf(head) : isBinary(head);
  return foreign && !handlesForeignFormats();
}

/** Like shells judge it: a NUL in the first line. */
function isBinary(head: Buffer): boolean {
  const line = head.indexOf('\n');
  return head.subarray(0, line === -1 ? head.length : line).includes(0);
}

function isNativeElf(head: Buffer): boolean {
  if (head.length < ELF_HEADER_BYTES) return false;
  const own = firstBytes('/proc/self/exe');
  if (own === undefined) return true;
  if (head[5] !== own[5]) return false;
  const [machine, ownMachine] = [head.readUInt16LE(18), own.readUInt16LE(18)];
  return (
    machine === ownMachine || (ownMachine === X86_64 && machine === I386) || (ownMachine === AARCH64 && machine === ARM)
  );
}

function handlesForeignFormats(): boolean {
  try {
    return readdirSync('/proc/sys/fs/binfmt_misc').some((name) => name !== 'register' && name !== 'status');
  } catch {
    return false;
  }
}

function firstBytes(path: string): Buffer | undefined {
  try {
    const fd = openSync(path, 'r');
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      return head.subarray(0, readSync(fd, head, 0, HEAD_BYTES, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}
