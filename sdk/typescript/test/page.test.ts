import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { createClient } from "@svc/sdk";
import { Fake, Wire, control, data, event, offset, settle } from "./support/fake.js";

const baseUrl = "https://svc.example/v1/ada/personal";

/** Page stands for the document of a browser; the test in a browser has a real one. */
class Page extends EventTarget {
  visibilityState = "visible";

  show(visible: boolean): void {
    this.visibilityState = visible ? "visible" : "hidden";
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

function open(): Page {
  const page = new Page();
  Object.defineProperty(globalThis, "document", { value: page, configurable: true });
  return page;
}

afterEach(() => void Reflect.deleteProperty(globalThis, "document"));

function follow(pauseWhenHidden?: boolean): { fake: Fake; wires: Wire[]; got: number[]; cancel: () => void } {
  const wires: Wire[] = [];
  const fake = new Fake((asked) => {
    const wire = new Wire(asked.signal);
    wires.push(wire);
    return wire.send(control(Number(asked.url.searchParams.get("offset")!.split("_")[1] ?? -1))).sse();
  });
  const got: number[] = [];
  const stream = createClient({ baseUrl, fetch: fake.fetch }).runs.stream("run_1", { ...(pauseWhenHidden !== undefined && { pauseWhenHidden }) });
  void stream.forEach((e) => void got.push(e.eventIndex));
  return { fake, wires, got, cancel: stream.cancel };
}

test("a stream lets go while the page is hidden, and goes on where it was when it is seen", async () => {
  const page = open();
  const { fake, wires, got, cancel } = follow();
  await settle();
  wires[0]!.send(data(event(0)), control(0), data(event(1)));
  await settle();
  page.show(false);
  await settle();
  assert.equal(wires[0]!.open, false);
  assert.equal(fake.asked.length, 1, "nothing is asked while nobody looks");
  page.show(true);
  await settle();
  assert.equal(fake.last.url.searchParams.get("offset"), offset(0));
  wires[1]!.send(data(event(1)), control(1));
  await settle();
  assert.deepEqual(got, [0, 1]);
  cancel();
});

test("a stream that begins on a hidden page waits", async () => {
  const page = open();
  page.show(false);
  const { fake, cancel } = follow();
  await settle();
  assert.equal(fake.asked.length, 0);
  page.show(true);
  await settle();
  assert.equal(fake.asked.length, 1);
  cancel();
});

test("a stream that need not be seen reads on", async () => {
  const page = open();
  const { fake, wires, got, cancel } = follow(false);
  await settle();
  page.show(false);
  wires[0]!.send(data(event(0)), control(0));
  await settle();
  assert.deepEqual(got, [0]);
  assert.equal(fake.asked.length, 1);
  cancel();
});

test("the events so far are read on a hidden page as on any other", async () => {
  open().show(false);
  const fake = new Fake(() => Response.json([event(0)], { headers: { "stream-next-offset": offset(0), "stream-up-to-date": "true" } }));
  const events = createClient({ baseUrl, fetch: fake.fetch }).runs.events("run_1");
  await settle();
  assert.equal(fake.asked.length, 1);
  assert.deepEqual((await events).map((e) => e.eventIndex), [0]);
});

test("a stream that waits for the page ends with its reader", async () => {
  const page = open();
  page.show(false);
  const stream = createClient({ baseUrl, fetch: new Fake(() => new Wire().sse()).fetch }).runs.stream("run_1");
  const ended = stream.forEach(() => {});
  await settle();
  stream.cancel();
  await ended;
});
