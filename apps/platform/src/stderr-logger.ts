import { ConsoleLogger, type LogLevel } from '@nestjs/common';

/** Nest's console logger on stderr alone: stdout belongs to what a command prints. */
export class StderrLogger extends ConsoleLogger {
  protected override printMessages(messages: unknown[], context?: string, level?: LogLevel): void {
    super.printMessages(messages, context, level, 'stderr');
  }
}
