import type { Heal, SubjectFaults } from '#libs/conformance';
import type { RunnerHost } from '../../../src/runner/index.js';
import { until } from '../../support/until.js';
import { closingBeforeExit, cutting, losingReply, refusing, repeating, trailing } from './runner-faults.js';
import type { RunnerWire, WireFault } from './runner-wire.js';

/** What can go wrong on the way to the daemon of `runnerId`, which dials again by itself. */
export function wireFaults(host: RunnerHost, runnerId: string, wire: RunnerWire): SubjectFaults {
  /** Heals once the daemon has dialled again, if the fault cost it its connection. */
  const arm = async (make: (struck: () => void) => WireFault): Promise<Heal> => {
    const before = await host.whereis(runnerId);
    let hasStruck = false;
    wire.fault = make(() => (hasStruck = true));
    return async () => {
      wire.fault = undefined;
      if (!hasStruck) return;
      await until('the daemon has dialled again', async () => {
        const link = await host.whereis(runnerId);
        return link !== undefined && link !== before;
      });
    };
  };
  return {
    cutAfter: (bytes) => arm((struck) => cutting(bytes, struck)),
    closeBeforeExit: () => arm(closingBeforeExit),
    repeatFrames: () => arm(repeating),
    lateFrames: () => arm(trailing),
    failBefore: (operation) => arm(() => refusing(operation)),
    failAfter: (operation) => arm((struck) => losingReply(operation, struck)),
    stall: () => wire.stall(),
  };
}
