/**
 * The injection token of the adapter under `tag`, for `overrideProvider` in a test or to inject the adapter itself.
 * Equal over two copies of the package.
 */
export function getSandboxAdapterToken(tag: string): symbol {
  return Symbol.for(`nestjs-sandbox:adapter:${tag}`);
}
