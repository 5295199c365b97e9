/** An answer of the control plane that is no success; where it is thrown, its path is not known yet. */
export class ApiFailure extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = 'ApiFailure';
  }
}

export function apiFailure(status: number, message: string, headers?: Readonly<Record<string, string>>): ApiFailure {
  return new ApiFailure(status, message, headers);
}

export function noSuchSandbox(idOrName: string): ApiFailure {
  return apiFailure(404, `Sandbox with ID or name ${idOrName} not found`);
}
