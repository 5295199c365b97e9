/** What is installed to run an official SDK, pinned. */
export interface Provider {
  readonly packages: Readonly<Record<string, string>>;
  /** The package, among them, that brings the Node which the SDK needs. Without one, it is the Node that runs this. */
  readonly node?: string;
}

export const PROVIDERS = {
  daytona: { packages: { '@daytona/sdk': '0.216.0' } },
  e2b: { packages: { e2b: '2.51.0' } },
  // It hands headers to the global WebSocket, which Node 20 has not.
  sprites: { packages: { '@fly/sprites': '0.1.0', node: '22.23.3' }, node: 'node' },
} as const satisfies Readonly<Record<string, Provider>>;
