/**
 * Where to listen, out of `HOST` and `PORT`.
 *
 * @throws {Error} when `PORT` is not a port
 */
export function listenOptions(environment: NodeJS.ProcessEnv): { readonly host: string; readonly port: number } {
  const port = environment['PORT']?.trim() || '0';
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new Error('PORT: expected a number from 0 to 65535');
  return { host: environment['HOST']?.trim() || '127.0.0.1', port: Number(port) };
}
