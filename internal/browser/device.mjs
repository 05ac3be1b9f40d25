// A program without a page asks for a key: somebody types its code, compares what they are shown, and approves; of another they deny.
import { ada } from "./people.mjs";
import { ask, given, perform } from "./stage.mjs";

const grant = "urn:ietf:params:oauth:grant-type:device_code";

await perform(async (enter) => {
  const visitor = await enter();
  const first = await request("/api/auth/device", { client: "svc on a laptop" });
  await visitor.open(first.verification_uri_complete);
  await visitor.at(`/login?returnTo=${encodeURIComponent(`/device?user_code=${first.user_code}`)}`);
  await visitor.follow("Create an account");
  await visitor.fill({ "E-mail": ada.email, Password: ada.password, "Username optional": ada.username });
  await visitor.press("Create account");
  await visitor.look("code", { at: `/device?user_code=${first.user_code}`, title: "Connect a device · svc", see: ["Type a code only if you started this yourself."] });
  await approve(visitor, first);
  await deny(visitor, await enter({ scripts: false }));
});

async function approve(visitor, asked) {
  await visitor.fill({ Code: "BCDF-GHJK" });
  await visitor.press("Continue");
  await visitor.look("wrong", { at: "/device", status: 400, focus: "user_code", see: ["No device shows this code now."] });
  await visitor.fill({ Code: asked.user_code.toLowerCase().replace("-", " ") });
  await visitor.press("Continue");
  await visitor.look("asks", { at: "/device", title: "Connect this device? · svc", see: [`your own device shows ${asked.user_code}`, "svc on a laptop, as it calls itself", "127.0.0.1", "ada/personal, where you are owner", "90 days, until"] });
  for (const scope of ["agents:read", "agents:write", "workflows:run", "runs:read"]) await visitor.page.getByLabel(scope).uncheck();
  await visitor.press("Approve");
  await visitor.look("asks-refused", { at: "/device", status: 400, focus: "scopes", see: ["Choose what the key may do.", asked.user_code] });
  await visitor.page.getByLabel("runs:read").check();
  await visitor.page.getByLabel("Works for").selectOption("7");
  await visitor.press("Approve");
  await visitor.look("approved", { at: "/device?notice=device_approved", see: ["Approved. Go back to your device"] });

  const key = await request("/api/auth/device/token", { grant_type: grant, device_code: asked.device_code });
  const runs = await ask("send", { Method: "GET", URL: key.baseUrl + "/runs", Header: { Authorization: "Bearer " + key.key } });
  if (runs.status !== 200) visitor.blame("key", `is answered ${runs.status} ${runs.body}`);
  await visitor.open("/account/keys");
  await visitor.look("listed", { at: "/account/keys", see: ["svc on a laptop", "for a device that ada approved"] });
}

// deny is somebody whose browser has no scripts.
async function deny(visitor, plain) {
  await plain.context.addCookies(await visitor.context.cookies(given.platform));
  const asked = await request("/api/auth/device", {});
  await plain.open(asked.verification_uri);
  await plain.fill({ Code: asked.user_code });
  await plain.press("Continue");
  await plain.see("asks without a name", { at: "/device", see: ["It does not say its name", asked.user_code] });
  await plain.press("Deny");
  await plain.see("denied", { at: "/device?notice=device_denied", see: ["Denied. The device gets no key."] });
  const told = await request("/api/auth/device/token", { grant_type: grant, device_code: asked.device_code }, 400);
  if (told.error !== "access_denied") plain.blame("denied", `the program is told ${JSON.stringify(told)}`);
}

// request is what a program asks, without a browser.
async function request(path, of, wanted = 200) {
  const { status, body } = await ask("send", { Method: "POST", URL: given.platform + path, Body: JSON.stringify(of), Header: { "Content-Type": "application/json" } });
  if (status !== wanted) throw new Error(`${path}: ${status} ${body}`);
  return JSON.parse(body);
}
