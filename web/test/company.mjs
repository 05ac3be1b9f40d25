// Northwind: a company with all that a workspace has, made by the API before anybody looks at it. Walks that take pictures stand on it.
import { ask, given, openAdmin, signIn } from "./stage.mjs";
import { approveAs, setUpGitHub } from "../../internal/browser/people.mjs";
import { files, lines, repository } from "./story.mjs";

export const password = "seven quiet boats at noon";
export const at = (page = "") => `${given.agents}/w/ada/northwind/${page}`;
const api = `${given.agents}/api/workspaces/ada/northwind`;
const talks = `${given.agents}/v1/ada/northwind/agents`;

const people = {
  ada: ["Ada Moreno", "northwind"],
  jonas: ["Jonas Berg", "northwind"],
  nora: ["Nora Sandvik", "northwind"],
  kofi: ["Kofi Darko", "northwind"],
  elin: ["Elin Lund", "northwind"],
  lena: ["Lena Iversen", "fjordline"],
  mina: ["Mina Wu", "fjordline"],
  priya: ["Priya Osei", "osei"],
  tomas: ["Tomas Kral", "kral"],
  rafael: ["Rafael Sosa", "harbor"],
  hana: ["Hana Dvorak", "svc"],
  sam: ["Sam Kerr", "svc"],
};
export const emailOf = (name) => `${name}@${people[name][1]}.example`;
const cookies = {};

// call is a request of a program that has somebody's session. Each person comes from an address of their own.
export async function call(name, method, url, body, header = {}) {
  const from = `203.0.113.${10 + Object.keys(people).indexOf(name)}`;
  const text = typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body);
  const type = typeof body === "string" ? "text/plain" : "application/json";
  const headers = { Origin: new URL(url).origin, "Content-Type": type, "X-Forwarded-For": from, ...(cookies[name] && { Cookie: cookies[name] }), ...header };
  const answer = await ask("send", { Method: method, URL: url, Body: text, Header: headers });
  if (answer.status >= 400) throw new Error(`${name}: ${method} ${url}: ${answer.status} ${answer.body}`);
  if (answer.cookie) cookies[name] = answer.cookie;
  return answer.body ? JSON.parse(answer.body) : undefined;
}

const ada = (method, path, body, header) => call("ada", method, api + path, body, header);

// found makes the company, and all that it has.
export async function found() {
  await ask("answers", lines);
  await signUp();
  await call("ada", "POST", `${given.platform}/api/workspaces`, { business: "northwind", name: "Northwind" });
  await call("ada", "POST", `${given.platform}/api/workspaces`, { business: "labs", name: "Labs" });
  await call("lena", "POST", `${given.platform}/api/workspaces`, { business: "fjordline", name: "Fjordline" });
  await call("rafael", "POST", `${given.platform}/api/workspaces`, { business: "harbor", name: "Harbor" });
  await storeKeys();
  await makeProjects();
  await writeAgents();
  await gather();
  await connectServers();
  await otherCustomers();
}

// signUp makes the accounts of everybody but the first administrator. Mails are on their way together.
async function signUp() {
  const customers = Object.entries(people).filter(([name]) => name !== "sam");
  const post = (name, path, body) => call(name, "POST", `${given.platform}/api/auth/${path}`, body);
  for (const [name, [displayName]] of customers) await post(name, "password/register", { email: emailOf(name), password, username: name, displayName });
  for (const [name] of customers) {
    await post(name, "email/verify", { token: await mailed(name) });
    await post(name, "password/login", { email: emailOf(name), password });
  }
}

// mailed is the token of the next mail to somebody.
async function mailed(name) {
  const { link } = await ask("mail", { to: emailOf(name) });
  return new URL(link).hash.replace(/^#t=/, "");
}

// storeKeys keeps what the workspace asks models with, its secrets and its API keys.
async function storeKeys() {
  await ada("PUT", "/models/anthropic", { key: given.model.key, url: given.model.url });
  await ada("POST", "/models/anthropic/test");
  await ada("PUT", "/models", { default: "anthropic/claude-sonnet-5-5" });
  await ada("PUT", "/models/openai", { key: "sk-of-last-year", url: given.model.url });
  await ada("POST", "/models/openai/test");
  for (const name of ["MAIL_PASSWORD", "WAREHOUSE_TOKEN", "CRM_WEBHOOK"]) await ada("PUT", `/secrets/${name}`, { value: `the value of ${name}` });
  const day = 24 * 3600 * 1000;
  const keys = { ci: [["agents:read", "agents:write"], 90], warehouse: [["agents:write"], 14], "cost-sheet": [["usage:read", "runs:read"], 263] };
  for (const [name, [scopes, days]] of Object.entries(keys)) await ada("POST", "/keys", { name, scopes, expiresAt: new Date(Date.now() + days * day).toISOString() });
}

// makeProjects fills two projects by hand; ops follows a repository later.
async function makeProjects() {
  for (const [slug, description] of [["ops", "What happens at night, and who looks at it."], ["docs", "What customers read."], ["invoices", ""]]) {
    await ada("POST", "/projects", { slug, name: slug, description });
    for (const [path, text] of Object.entries(files[slug])) await ada("PUT", `/projects/${slug}/files/${path}`, text);
  }
}

async function writeAgents() {
  const file = ["list_files", "read_file", "search_files", "write_file"];
  const triage = {
    description: "Ranks failures by customer impact.", model: "anthropic/claude-opus-5-5", reasoning: "medium", exposed: true, projects: ["ops", "docs"],
    tools: [...file, "http_fetch", "ask_agent"], hosts: ["status.northwind.example", "*.fjordline.example"],
    instructions: "You sort what came in overnight for Northwind.\n\n# Order\n1. Money or data lost. Count the customers.\n2. Everything else, newest first.\n\nOpen one note per cause in `ops`, never two.",
  };
  await ada("POST", "/agents", { name: "triage", ...triage });
  const saved = (version, change) => ada("PATCH", "/agents/triage", change, { "If-Match": `"${version}"` });
  await saved(1, { instructions: triage.instructions.replace("2. Everything", "2. Stopped runs, with the step that stopped them.\n3. Everything") });
  await saved(2, { instructions: `${triage.instructions.replace("2. Everything", "2. Stopped runs, with the step that stopped them.\n3. Everything")}\nAsk \`writer\` for any text a customer will read.` });
  await ada("POST", "/agents", { name: "writer", description: "Writes what customers read: short, kind, true.", model: "openai/gpt-5.4-mini", projects: ["docs"], tools: ["read_file", "write_file"], instructions: "You write for customers. Three sentences at most." });
  await ada("POST", "/agents", { name: "summarize", description: "Sums up long threads.", model: "anthropic/claude-haiku-5-5", instructions: "Sum up what you are given in five lines." });
  await ada("POST", "/agents", { name: "invoice-clerk", description: "Checks invoices against the price list.", projects: ["invoices"], tools: file, instructions: "Compare each line with the price list." });
  await ada("POST", "/agents", { name: "intake", description: "Takes orders by mail.", model: "scripted/words", instructions: "Take the order." });
  await ada("POST", "/agents/intake/disable");
}

// gather invites people, and makes teams of them.
async function gather() {
  for (const [name, role] of [["jonas", "admin"], ["nora", "builder"], ["kofi", "viewer"], ["elin", "billing"]]) {
    await ada("POST", "/invitations", { email: emailOf(name), role });
    await call(name, "POST", `${given.platform}/api/invitations/accept`, { token: await mailed(name) });
  }
  await ada("POST", "/invitations", { email: "li.wen@northwind.example", role: "builder" });
  await call("jonas", "POST", `${api}/invitations`, { email: "accounts@fjordline.example", role: "viewer" });
  const { items } = await ada("GET", "/people");
  const account = (name) => items.find((each) => each.username === name).account;
  for (const [name, members, projects] of [["Ops", ["jonas", "nora", "kofi"], ["ops", "docs"]], ["Finance", ["jonas", "elin"], ["invoices"]]]) {
    const { id } = await ada("POST", "/teams", { name });
    for (const member of members) await ada("PUT", `/teams/${id}/members/${account(member)}`);
    for (const slug of projects) await ada("PUT", `/teams/${id}/projects/${slug}`, { role: "builder" });
  }
}

// connectServers adds MCP servers in each state: connected, down, waiting for somebody to sign in.
async function connectServers() {
  const tools = [["search_issues", "Find issues by text, team or state."], ["get_issue", "One issue with its comments."], ["add_comment", "Write a comment on an issue."], ["create_issue", "Open an issue in a team."], ["get_roadmap", "Projects and their target dates."]];
  const offered = [...tools.map(([name, description]) => ({ name, description })), { name: "delete_issue", description: "Delete an issue for good.", destructive: true }];
  const tracker = await ask("mcp server", { token: "s3cret", tools: offered });
  const { id } = await ada("POST", "/mcps", { name: "linear-tools", url: tracker, auth: "bearer", token: "s3cret" });
  await ada("POST", `/mcps/${id}/connect`);
  for (const [name] of tools.slice(0, 3)) await ada("PATCH", `/mcps/${id}/tools/${name}`, { enabled: true });
  await ask("mcp offer", { address: tracker, tools: [{ name: "bulk_update_issues", description: "Change many issues in one call.", destructive: true }] });
  await ada("POST", `/mcps/${id}/refresh`);
  const search = await ask("mcp server", { tools: [{ name: "search_docs", description: "Find a page of the handbook." }] });
  const docs = await ada("POST", "/mcps", { name: "docs-search", url: search });
  await ada("POST", `/mcps/${docs.id}/connect`);
  await ada("PATCH", `/mcps/${docs.id}/tools/search_docs`, { enabled: true });
  await ada("POST", "/mcps", { name: "warehouse-db", url: "http://127.0.0.1:9/mcp" });
  const { items } = await ada("GET", "/mcps");
  const down = items.find((each) => each.name === "warehouse-db");
  await ada("POST", `/mcps/${down.id}/test`);
}

// otherCustomers have a little of everything too: the lists of the whole service show whose it is.
async function otherCustomers() {
  const lena = (method, path, body) => call("lena", method, `${given.agents}/api/workspaces/lena/fjordline${path}`, body);
  await lena("POST", "/projects", { slug: "quotes", name: "quotes" });
  await lena("PUT", "/projects/quotes/files/offer.md", "# Offer\n\n120 boats, 4 weeks.\n");
  await lena("POST", "/agents", { name: "quote-desk", description: "Answers requests for quotes.", instructions: "Answer within a day." });
  await lena("POST", "/keys", { name: "shop", scopes: ["agents:write"], expiresAt: new Date(Date.now() + 20 * 24 * 3600 * 1000).toISOString() });
  await call("lena", "POST", `${given.agents}/api/workspaces/lena/fjordline/workflows/digest/run`, { project: "quotes" });
}

// talk has somebody say something to an agent, and waits until all is answered.
export async function talk(agent, instance, text, name = "ada") {
  await call(name, "POST", `${talks}/${agent}/${instance}`, { kind: "user", body: text });
  return settle(agent, instance, name);
}

async function settle(agent, instance, name) {
  for (const end = Date.now() + 30_000; Date.now() < end; await new Promise((next) => setTimeout(next, 100))) {
    const { submissions } = await call(name, "GET", `${talks}/${agent}/${instance}/submissions`);
    if (submissions.length === 0) return;
  }
  throw new Error(`${agent}/${instance} is not answered`);
}

// digest starts a run, and waits until it stands as it should.
export async function digest(project, status, name = "ada") {
  const { runId } = await call(name, "POST", `${api}/workflows/digest/run`, { project });
  for (const end = Date.now() + 30_000; Date.now() < end; await new Promise((next) => setTimeout(next, 100))) {
    const run = await call(name, "GET", `${api}/runs/${runId}`);
    if (run.status === status) return runId;
  }
  throw new Error(`the digest of ${project} is not ${status}`);
}

export const cancel = (run) => ada("POST", `/runs/${run}/cancel`);
export const write = (slug, path, text, name = "nora") => call(name, "PUT", `${api}/projects/${slug}/files/${path}`, text);

// enterAs signs somebody in, in a browser of their own.
export async function enterAs(enter, name) {
  const visitor = await enter();
  await visitor.open("/login");
  await signIn(visitor, { email: emailOf(name), password });
  await visitor.at(new RegExp(`^${given.agents}/w/`));
  return visitor;
}

// enterAsStaff is the first administrator, who set up GitHub.
export async function enterAsStaff(enter) {
  const staff = await enter();
  await staff.open(given.setupLink);
  await staff.fill({ "E-mail": emailOf("sam"), Password: password, "Username optional": "sam" });
  await staff.press("Create administrator");
  await staff.at(new RegExp(`^${given.agents}/w/sam/personal/`));
  await staff.open("/account");
  await staff.fill({ "Name optional": people.sam[0] });
  await staff.press("Save");
  await staff.open(`${given.admin}/settings/providers`);
  await openAdmin(staff, { password });
  await setUpGitHub(staff);
  return staff;
}

// follow has the project ops follow its repository, as Ada does it: by her GitHub account, and an installation for the workspace.
export async function follow(visitor) {
  await ask("repository", { name: "northwind/ops", files: repository });
  await visitor.open("/account/connections");
  await visitor.follow("Link GitHub");
  await approveAs(visitor, "octocat");
  await visitor.at(/\/account\/connections/);
  await visitor.open("/api/auth/oauth/github/install?workspace=ada%2Fnorthwind");
  await visitor.page.getByLabel("Account").selectOption("northwind");
  await visitor.press("Approve");
  await visitor.at("/account/connections?notice=provider_installed");
  const { items } = await ada("GET", "/installations");
  await ada("PUT", "/projects/ops/repository", { provider: "github", owner: "northwind", name: "ops", installationId: items[0].id, branch: "main" });
  await ada("POST", "/projects/ops/pull");
}
