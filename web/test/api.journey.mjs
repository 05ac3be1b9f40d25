// Somebody makes a key, runs the snippet in a shell, tries it in place, and revokes it. With SVC_SOAK=1 the programs in TypeScript and
// Go run too. (interface.md, journey 29)
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ada, arrive, ask, given, of, perform, signUp } from "./stage.mjs";
import { makeWorkspace } from "./team.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const words = /word0 word1 word2/;

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await signUp(visitor, ada);
  await makeWorkspace(visitor, "labs", "Labs");
  await visitor.open(of("ada", "labs", "api"));
  await turnTo(visitor, "personal");
  await visitor.look("none", { at: of("ada", "personal", "api"), title: "API · Personal", see: ["No key yet", `${given.agents}/v1/ada/personal`, "$SVC_KEY"] });

  await page.getByRole("button", { name: "New key" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("ci");
  await visitor.picture("new");
  // Enter is pressed twice and the answer is lost: it is one key all the same.
  await losing(page, "/keys");
  for (const key of ["Enter", "Enter"]) await page.getByLabel("Name", { exact: true }).press(key);
  const sent = await page.evaluate(() => (window.answer(), window.sent));
  if (sent !== 1) visitor.blame("made", `is asked for ${sent} times`);
  await page.getByText("The lamp fell over.").waitFor();
  await page.getByRole("button", { name: "Make key" }).click();
  const key = await page.getByRole("dialog", { name: "The key ci" }).locator("code").first().innerText();
  if (!/^svck_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/.test(key)) visitor.blame("made", `is no key: ${key}`);
  await visitor.picture("made");
  await page.getByRole("button", { name: "I have it" }).click();
  await visitor.look("key", { at: of("ada", "personal", "api"), see: ["1 key", "ci", "90 d left", "agents:read, agents:write", "Holds the key of ci"] });

  const curl = await snippet(page, "curl");
  await runs(visitor, "curl", ["bash", "-c", curl], /submission-settled/, words, {});
  if (process.env.SVC_SOAK) await runPrograms(visitor);

  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByRole("region", { name: "Answer" }).getByText("Answered").waitFor();
  await visitor.look("tried", { at: of("ada", "personal", "api"), see: ["word11", "with the key ci", "202 in"] });

  // What was shown once is shown in its own workspace alone, and is gone with the page.
  await turnTo(visitor, "labs");
  await visitor.see("elsewhere", { at: of("ada", "labs", "api"), see: ["No key yet", "$SVC_KEY"], miss: [key] });
  await visitor.open(of("ada", "personal", "api"));
  await arrive(visitor, "API");
  await visitor.see("again", { at: of("ada", "personal", "api"), see: ["$SVC_KEY"], miss: [key] });

  await page.getByRole("button", { name: "Revoke ci" }).click();
  await page.getByLabel("Type ci to confirm").fill("ci");
  await page.getByRole("button", { name: "Revoke key" }).click();
  await page.getByText("ci is revoked.").waitFor();
  const answer = await ask("send", { Method: "GET", URL: `${given.agents}/v1/ada/personal/runs`, Header: { Authorization: `Bearer ${key}` } });
  if (answer.status !== 401) visitor.blame("revoked", `the key is answered ${answer.status}`);
  await page.getByText("No key yet").waitFor();
  await visitor.see("none again", { at: of("ada", "personal", "api"), see: ["No key yet"] });
});

// turnTo shows the same page of another workspace of ada's.
async function turnTo(visitor, business) {
  await visitor.page.getByRole("navigation", { name: "Pages" }).getByRole("button", { name: /ada \/ / }).click();
  await visitor.page.getByRole("menuitemradio", { name: new RegExp(`^${business}`) }).click();
  await visitor.at(of("ada", business, "api"));
  await visitor.page.getByText("No key yet").waitFor();
}

// losing has the service do what is asked for first, and the page hear of an error, once window.answer is called.
function losing(page, path) {
  return page.evaluate((path) => {
    const ask = window.fetch;
    const held = new Promise((done) => (window.answer = done));
    window.sent = 0;
    window.fetch = async (input, init) => {
      if (init?.method !== "POST" || !new URL(input, location.href).pathname.endsWith(path) || window.sent++ > 0) return ask(input, init);
      await ask(input, init);
      await held;
      return Response.json({ error: { type: "internal_error", message: "The lamp fell over.", details: "" } }, { status: 500 });
    };
  }, path);
}

// snippet is what the button copies.
async function snippet(page, language) {
  await page.getByRole("tab", { name: language }).click();
  return page.getByLabel(`${language} snippet`, { exact: true }).innerText();
}

// runs has a program run as it was copied until it says the last, and judges what it said.
async function runs(visitor, name, [program, ...args], last, wanted, { env = {}, cwd = root } = {}) {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, detached: true });
  let said = "";
  const ended = new Promise((done) => {
    const hear = (text) => {
      said += text;
      if (last.test(said)) done();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("close", done);
    setTimeout(done, 120_000).unref();
  });
  await ended;
  try {
    process.kill(-child.pid);
  } catch {
    // It has ended by itself.
  }
  const text = name === "curl" ? [...said.matchAll(/"delta":"([^"]*)"/g)].map((each) => each[1]).join("") : said;
  if (!wanted.test(text)) visitor.blame(name, `said ${said}`);
}

// runPrograms runs those that need a name to be found: their resolver may not know that *.localhost is this machine.
async function runPrograms(visitor) {
  const folder = mkdtempSync(join(tmpdir(), "snippet-"));
  const proxy = createServer((asked, answer) => {
    const to = new URL(asked.url);
    const passed = request({ host: "127.0.0.1", port: to.port, path: to.pathname + to.search, method: asked.method, headers: { ...asked.headers, host: to.host } }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    asked.pipe(passed);
  }).listen(0, "127.0.0.1");
  try {
    const resolver = join(folder, "resolver.mjs");
    writeFileSync(resolver, `import dns from "node:dns"; const find = dns.lookup; dns.lookup = (name, ...rest) => find(name.endsWith(".localhost") ? "127.0.0.1" : name, ...rest);`);
    const script = await snippet(visitor.page, "TypeScript");
    await runs(visitor, "TypeScript", ["node", "--import", resolver, "--input-type=module", "-e", script], /^$/, words, { cwd: join(root, "web") });
    writeFileSync(join(folder, "main.go"), await snippet(visitor.page, "Go"));
    await runs(visitor, "Go", ["go", "run", join(folder, "main.go")], /^$/, words, { env: { HTTP_PROXY: `http://127.0.0.1:${proxy.address().port}` } });
  } finally {
    proxy.close();
    rmSync(folder, { recursive: true });
  }
}
