/** A whole HTTP answer. At most one of `json`, `text` and `html`; none is an empty body. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
  readonly html?: string;
}

/** Thrown by a guard or a handler, before anything was sent: it becomes the answer, of a request or of an upgrade. */
export class Refusal extends Error {
  constructor(readonly answer: Answer) {
    super(`answered with ${answer.status}`);
    this.name = 'Refusal';
  }
}

export interface RenderedAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

export function render(answer: Answer): RenderedAnswer {
  const [type, text] =
    answer.json !== undefined
      ? ['application/json', JSON.stringify(answer.json)]
      : answer.html !== undefined
        ? ['text/html; charset=utf-8', answer.html]
        : answer.text !== undefined
          ? ['text/plain; charset=utf-8', answer.text]
          : [undefined, ''];
  const headers = { ...(type && { 'content-type': type }), ...answer.headers };
  return { status: answer.status, headers, body: Buffer.from(text) };
}

/** Sends elsewhere. @param location relative or absolute */
export function redirectTo(location: string, status = 302): Answer {
  return { status, headers: { location } };
}
