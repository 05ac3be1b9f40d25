// A proxy on loopback that cuts connections where the test says.
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { once } from "node:events";

/** Cut is after how many bytes a connection is cut: of what is sent, of what is answered. */
export interface Cut {
  sent?: number | undefined;
  answered?: number | undefined;
}

/** Proxy passes bytes on. Each connection has the cut of its number, and none where there is none. */
export class Proxy {
  /** What has passed. */
  sent = 0;
  answered = 0;
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number, plan: (n: number) => Cut | undefined) {
    this.#server = createServer((near) => {
      const cut = plan(this.connections++) ?? {};
      const far = connect(port, "127.0.0.1");
      const end = (): void => {
        near.destroy();
        far.destroy();
      };
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.setNoDelay(true);
        socket.on("error", end).on("close", () => {
          this.#sockets.delete(socket);
          end();
        });
      }
      this.#pass(near, far, cut.sent, (n) => (this.sent += n), end);
      this.#pass(far, near, cut.answered, (n) => (this.answered += n), end);
    });
  }

  static async start(port: number, plan: (n: number) => Cut | undefined = () => undefined): Promise<Proxy> {
    const proxy = new Proxy(port, plan);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #pass(from: Socket, to: Socket, most: number | undefined, count: (n: number) => void, end: () => void): void {
    let left = most ?? Infinity;
    if (left === 0) end();
    from.on("data", (bytes) => {
      const some = bytes.subarray(0, Math.min(left, bytes.length));
      left -= some.length;
      count(some.length);
      // What was let through must arrive before the cut.
      if (left > 0) to.write(some);
      else to.write(some, () => end());
    });
    from.on("end", () => to.end());
  }
}

/** random is a sequence that a seed decides. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
