import 'reflect-metadata';
import { createPlatform } from './create-platform.js';
import { listenOptions } from './listen-options.js';

const { app, url } = await createPlatform(listenOptions(process.env));
app.enableShutdownHooks();
process.stderr.write(`Listening on ${url}\n`);
