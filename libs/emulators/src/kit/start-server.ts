import { EmulatorRoot } from './emulator-root.js';
import { EmulatorServer, type EmulatorServerOptions } from './emulator-server.js';

/** What an emulator stands on: a server, and a root for processes and files. */
export async function startServer(
  options?: EmulatorServerOptions,
): Promise<{ readonly server: EmulatorServer; readonly root: EmulatorRoot }> {
  const root = await EmulatorRoot.open();
  try {
    return { server: await EmulatorServer.start(options), root };
  } catch (error) {
    await root.close();
    throw error;
  }
}
