export { JournalReader, type JournalRecord } from './journal-reader.js';
export type * from './keeper.js';
export { KEEPER_LIMITS, type KeeperLimits } from './limits.js';
export { LocalKeeper, type LocalKeeperOptions } from './local-keeper.js';
export { RootLockedError } from './root-lock.js';
