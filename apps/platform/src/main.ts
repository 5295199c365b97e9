import 'reflect-metadata';
import { createPlatform } from './create-platform.js';
import { listenOptions } from './listen-options.js';

try {
  const { app, url } = await createPlatform(listenOptions(process.env));
  app.enableShutdownHooks();
  process.stderr.write(`Listening on ${url}\n`);
} catch (error) {
  process.stderr.write(`The platform could not start: ${(error as Error).message}\n`);
  process.exit(1);
}
