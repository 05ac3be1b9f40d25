// The proxy of internal/torture as a process: SVC_TORTURE is its binary.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const binary = process.env["SVC_TORTURE"];

/** Why the tests that need the proxy are skipped, if they are. */
export const missing = binary ? false : "SVC_TORTURE names no torture proxy; go test runs this with one";

/** Torture is a proxy with a contract program behind it, its own or another. */
export class Torture {
  readonly #process: ChildProcess;
  readonly #control: string;
  /** Where clients come to. */
  readonly url: string;
  /** The program behind it. */
  readonly server: string;

  private constructor(process: ChildProcess, at: { proxy: string; control: string; server: string }) {
    this.#process = process;
    this.#control = at.control;
    this.url = at.proxy;
    this.server = at.server;
  }

  static async start(...options: string[]): Promise<Torture> {
    const process = spawn(binary!, options, { stdio: ["pipe", "pipe", "inherit"] });
    for await (const line of createInterface({ input: process.stdout! })) return new Torture(process, JSON.parse(line));
    throw new Error("the torture proxy does not start");
  }

  /** plan says what is to happen from now on. */
  async plan(...plans: object[]): Promise<void> {
    await this.#tell("DELETE", "/plans");
    await this.#tell("POST", "/plans", plans);
  }

  /** hits are how many plans have come true. */
  async hits(): Promise<number> {
    const answer = await fetch(`${this.#control}/hits`);
    return ((await answer.json()) as { hits: number }).hits;
  }

  /** move leads those who come from now on to another program. */
  move(server: string): Promise<void> {
    return this.#tell("PUT", "/target", { address: new URL(server).host });
  }

  /** kill ends the proxy and its program as a power cut does. */
  kill(): Promise<void> {
    return this.#end(() => this.#process.kill("SIGKILL"));
  }

  stop(): Promise<void> {
    return this.#end(() => this.#process.stdin!.end());
  }

  async #end(how: () => void): Promise<void> {
    const gone = once(this.#process, "exit");
    how();
    await gone;
  }

  async #tell(method: string, path: string, body?: object): Promise<void> {
    const answer = await fetch(this.#control + path, { method, ...(body && { body: JSON.stringify(body) }) });
    assert.equal(answer.status, 204, await answer.text());
  }
}
