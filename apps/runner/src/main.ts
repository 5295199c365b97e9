#!/usr/bin/env node
import { runProgram } from './program.js';

// Whoever read the log may have gone; that is no reason to stop.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

process.exit(await runProgram(process.argv.slice(2), process.env));
