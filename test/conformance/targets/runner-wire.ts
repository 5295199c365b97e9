/** One frame of version 1, either way. */
export interface WireFrame {
  readonly id?: number;
  readonly op?: string;
  readonly ok?: boolean;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly stream?: string;
  readonly session_id?: string;
  readonly data?: string;
  readonly offset?: number;
  readonly code?: number;
}

/** What stands on the wire and changes what passes. */
export interface WireFault {
  /** A request on its way to the daemon. What it returns is the daemon's answer, and the daemon sees nothing. */
  request?(frame: WireFrame, wire: Wire): WireFrame | undefined;
  /** A frame on its way to the platform. What arrives in its place; `undefined`: the frame as it came. */
  arriving?(frame: WireFrame, wire: Wire): readonly WireFrame[] | undefined;
}

/** The way between a platform and one daemon, as a fault sees it. */
export interface Wire {
  /** Resets the connection. Nothing arrives any more. */
  cut(): void;
  /** Ends the connection in good order. Nothing arrives any more. */
  close(): void;
}

/** One socket, in the hands of whoever taps it. */
export interface TappedSocket extends Wire {
  /** Hands a frame to the platform. */
  deliver(text: string): void;
}

/** What passes through a tap. */
export interface Tap {
  /** Whether a request goes on to the daemon. */
  sends(text: string): boolean;
  /** A frame has come from the daemon. */
  arrives(text: string): void;
}

/**
 * Stands between the sockets of daemons and the platform, on the platform's side. Without a fault every frame passes
 * untouched, and requests are counted.
 */
export class RunnerWire {
  /** Requests that the platform sent, those included that a fault answered. */
  requests = 0;
  /** One at a time. */
  fault: WireFault | undefined;
  #stalled: (() => void)[] | undefined;

  /** Nothing arrives until what this gives is called; then everything does, in order. */
  stall(): () => void {
    this.#stalled ??= [];
    return () => {
      const held = this.#stalled ?? [];
      this.#stalled = undefined;
      for (const arrive of held) arrive();
    };
  }

  /** Watches one socket until it is cut or closed through here. */
  tap(socket: TappedSocket): Tap {
    let dead = false;
    const end = (how: () => void): void => {
      dead = true;
      how();
    };
    const wire: Wire = { cut: () => end(() => socket.cut()), close: () => end(() => socket.close()) };
    const arrive = (text: string): void => {
      const deliver = (): void => {
        if (!dead) socket.deliver(text);
      };
      if (this.#stalled) this.#stalled.push(deliver);
      else deliver();
    };
    return {
      sends: (text) => {
        this.requests += 1;
        const answer = this.fault?.request && this.fault.request(JSON.parse(text) as WireFrame, wire);
        if (answer) setImmediate(() => arrive(JSON.stringify(answer)));
        return answer === undefined;
      },
      arrives: (text) => {
        if (dead) return;
        const instead = this.fault?.arriving && this.fault.arriving(JSON.parse(text) as WireFrame, wire);
        for (const one of instead?.map((frame) => JSON.stringify(frame)) ?? [text]) arrive(one);
      },
    };
  }
}
