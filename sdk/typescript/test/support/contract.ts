// The contract program as a process: SVC_CONTRACT is its binary, SVC_CONTRACT_DB its database where that is not a new file.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

export const binary = process.env["SVC_CONTRACT"];

/** Why the tests that need the program are skipped, if they are. */
export const missing = binary ? false : "SVC_CONTRACT names no contract program; go test runs this with one";

/** Whether to try everything, not a part. */
export const soak = process.env["SVC_SOAK"] === "1";

export class Contract {
  readonly #folder: string;
  readonly #db: string;
  #process: ChildProcess | undefined;
  #listen = "127.0.0.1:0";

  private constructor(folder: string) {
    this.#folder = folder;
    this.#db = process.env["SVC_CONTRACT_DB"] ?? `sqlite:${join(folder, "svc.db")}`;
  }

  static async start(): Promise<Contract> {
    const contract = new Contract(await mkdtemp(join(tmpdir(), "svc-sdk-")));
    await contract.run();
    return contract;
  }

  get url(): string {
    return `http://${this.#listen}`;
  }

  get port(): number {
    return Number(this.#listen.split(":")[1]);
  }

  /** run starts the program, again at the same address. */
  async run(): Promise<void> {
    const program = (this.#process = spawn(binary!, ["-listen", this.#listen, "-db", this.#db], { stdio: ["ignore", "pipe", "inherit"] }));
    for await (const line of createInterface({ input: program.stdout! })) {
      const [, address] = /listening on http:\/\/(\S+)/.exec(line) ?? [];
      if (!address) continue;
      this.#listen = address;
      program.stdout!.resume();
      return;
    }
    throw new Error("the contract program does not start");
  }

  /** kill ends the program as a power cut does. */
  async kill(): Promise<void> {
    const gone = once(this.#process!, "exit");
    this.#process!.kill("SIGKILL");
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** eventually asks until something is true. */
export async function eventually(what: string, ok: () => boolean | Promise<boolean>, within = 20_000): Promise<void> {
  for (const end = Date.now() + within; !(await ok()); await delay(5)) {
    if (Date.now() > end) throw new Error(`not yet: ${what}`);
  }
}
