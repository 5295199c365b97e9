import { describe, expect, test } from '@jest/globals';
import { StdinOwners } from './stdin-owners.js';

const TAKEN = expect.objectContaining({ code: 'invalid', detail: 'stdin_not_open', effect: 'none' });

describe('the stdin of a session', () => {
  test('belongs to the newest that asked for it, until that lets go', () => {
    const owners = new StdinOwners();
    const first = owners.take('s');
    const second = owners.take('s');
    const other = owners.take('t');
    expect(first.check).toThrow(TAKEN);
    first.release();
    second.check();
    other.check();
    expect(owners.size).toBe(2);
    second.release();
    other.release();
    expect(owners.size).toBe(0);
    expect(first.check).toThrow(TAKEN);
  });

  test('that was let go of, as when the command ends, was taken by nobody', () => {
    const owners = new StdinOwners();
    const first = owners.take('s');
    first.release();
    first.check();
    expect(owners.size).toBe(0);
  });
});
