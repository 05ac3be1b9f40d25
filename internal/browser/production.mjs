// In production GitHub also tells when somebody takes back what they allowed.
import { approveAs, becomeAdministrator, begins, setUpGitHub } from "./people.mjs";
import { ask, given, perform } from "./stage.mjs";

const install = "/api/auth/oauth/github/install?workspace=octocat%2Fpersonal";

await perform(async (enter) => {
  const admin = await enter();
  await becomeAdministrator(admin);
  await setUpGitHub(admin);

  const octocat = await enter();
  await octocat.open("/login");
  await octocat.follow("Continue with GitHub");
  await approveAs(octocat, "octocat");
  await begins(octocat, "octocat");
  await keepCookies(octocat);
  if ((await status(octocat)) !== "connected") octocat.blame("connection", "is not connected");

  const delivered = await ask("revoke");
  if (delivered.status !== 202) octocat.blame("webhook", `is answered ${delivered.status} ${delivered.body}`);
  if ((await status(octocat)) !== "revoked") octocat.blame("connection", "is not marked as revoked");
  await octocat.open("/account/connections");
  await octocat.look("revoked", { at: "/account/connections", see: ["octocat"] });
  await octocat.open(install);
  await octocat.look("connection-required", { at: install, status: 409, see: ["409"] });

  await octocat.open("/account/connections");
  await octocat.follow("Link GitHub");
  await approveAs(octocat, "octocat");
  await octocat.see("connected again", { at: /\/account\/connections/, see: ["octocat"] });
  if ((await status(octocat)) !== "connected") octocat.blame("connection", "is not connected again");
});

// status is what the service says of the connection.
async function status(visitor) {
  await visitor.open("/api/account/identities");
  return JSON.parse(await visitor.page.locator("body").innerText()).items[0].status;
}

// keepCookies holds the browser's own account of its cookies against the contract.
async function keepCookies(visitor) {
  const all = await visitor.context.cookies([given.platform, given.agents]);
  const told = all.map((c) => `${c.name} ${c.domain} ${c.path} ${c.httpOnly && "HttpOnly"} ${c.secure && "Secure"} ${c.sameSite}`).sort();
  const wanted = [
    `__Host-svc_oauth ${new URL(given.platform).hostname} / HttpOnly Secure Lax`,
    "svc_session .example.com / HttpOnly Secure Lax",
  ];
  if (told.join() !== wanted.join()) visitor.blame("cookies", `are ${told.join("; ")}, want ${wanted.join("; ")}`);
}
