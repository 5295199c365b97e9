// Until it knows the times of an earlier run, jest begins with the largest files. Here the longest are small ones: begun
// last, they would run on when all others have ended.
import TestSequencer from '@jest/test-sequencer';

const LONGEST = [/\/test\/conformance\//, /\.e2e-spec\.ts$/];

export default class LongestFirst extends TestSequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- not an array's
    const sorted = super.sort(tests);
    if (sorted.every(({ duration }) => duration !== undefined)) return sorted;
    return sorted.toSorted((one, other) => rank(one.path) - rank(other.path));
  }
}

function rank(path) {
  const found = LONGEST.findIndex((pattern) => pattern.test(path));
  return found === -1 ? LONGEST.length : found;
}
