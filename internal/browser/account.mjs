// Somebody looks after their account: name, password, sessions, keys, and its end.
import { begins, bob, signIn } from "./people.mjs";
import { ask, given, perform } from "./stage.mjs";

const firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0";
const next = "three stones in the river";

await perform(async (enter) => {
  await ask("member", bob);
  const visitor = await enter();
  await visitor.open("/login?returnTo=%2Faccount");
  await signIn(visitor, bob);
  await rename(visitor);
  await endASession(visitor, await enter({ userAgent: firefox }));
  await changePassword(visitor);
  await useAKey(visitor);
  await leave(visitor);
});

async function rename(visitor) {
  const old = await visitor.tab();
  await old.open("/account");
  await visitor.look("profile", { at: "/account", title: "Profile · svc", see: ["bob never changes", "bob@example.com", "Verified"] });
  await visitor.fill({ "Name optional": "Bob Stone" });
  await visitor.press("Save");
  await visitor.look("renamed", { at: "/account?notice=profile_saved", see: ["Saved.", "Bob Stone"] });
  await old.fill({ "Name optional": "Robert" });
  await old.press("Save");
  await old.look("renamed-meanwhile", { at: "/account", status: 412, see: ["Bob Stone"] });
  await old.page.close();
}

// endASession ends what another browser has.
async function endASession(visitor, other) {
  await other.open("/login");
  await signIn(other, bob);
  await begins(other, bob.username);
  await visitor.follow("Sessions");
  await visitor.look("sessions", { at: "/account/sessions", see: ["Chrome on Linux This session", "Firefox on Windows", "End all others"] });
  await visitor.go(visitor.page.getByRole("button", { name: /^End the session of Firefox on Windows/ }));
  await visitor.see("session-ended", { at: "/account/sessions?notice=session_ended", see: ["The session is ended.", "This session"], miss: ["Firefox"] });
  await other.open("/account");
  await other.at("/login?returnTo=%2Faccount");
}

async function changePassword(visitor) {
  await visitor.follow("Password");
  await visitor.look("password", { at: "/account/security", title: "Password · svc", see: ["Changing it ends every other session. This one stays."] });
  await visitor.fill({ "Password you have now": "not the password at all", "New password": next });
  await visitor.press("Change password");
  await visitor.look("password-refused", { at: "/account/security/change", status: 401, see: ["The password is incorrect."] });
  await visitor.fill({ "Password you have now": bob.password, "New password": next });
  await visitor.press("Change password");
  await visitor.look("password-changed", { at: "/account/security?notice=password_changed", see: ["Your password is changed. Other sessions are ended."] });
  await ask("mail", { to: bob.email });
}

// useAKey has a program use a key that is shown once.
async function useAKey(visitor) {
  await visitor.follow("API keys");
  await visitor.look("keys-none", { at: "/account/keys", title: "API keys · svc", see: ["Keys of bob/personal", "No keys yet."] });
  await visitor.press("Make key");
  await visitor.look("keys-refused", { at: "/account/keys", status: 400, focus: "name", see: ["Give the key a name.", "Choose what the key may do."] });
  await visitor.fill({ Name: "ci" });
  await visitor.page.getByLabel("runs:read").check();
  await visitor.press("Make key");
  await visitor.look("key", { at: "/account/keys?workspace=bob%2Fpersonal", title: "Your new key · svc", see: ["Copy it now. It is not shown again", "Try it"] });
  const key = await visitor.page.getByLabel("Key", { exact: true }).inputValue();
  if (!/^svck_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/.test(key)) visitor.blame("key", "has another form");

  // The example on the page is to work as it stands.
  const example = (await visitor.page.getByRole("region", { name: "Try it" }).innerText()).match(/http\S+/)[0];
  const runs = await ask("send", { method: "GET", url: example, header: { Authorization: "Bearer " + key } });
  if (runs.status !== 200) visitor.blame("key", `is answered ${runs.status} ${runs.body} at ${example}`);
  // No key may manage keys; that it is told so shows that it is known.
  await answered(visitor, key, 403, "forbidden");
  const list = await visitor.page.getByRole("link", { name: "I have copied it" }).getAttribute("href");
  await visitor.page.reload(); // makes no second key
  const made = await visitor.page.getByText("svck_").count();
  if (made !== 1) visitor.blame("key", `is one of ${made} after a reload`);
  await visitor.open(list);
  await visitor.look("keys", { at: "/account/keys?workspace=bob%2Fpersonal", see: ["ci", "runs:read", "svck_" + key.slice(5, 17) + "_…" + key.slice(-4)], miss: [key] });
  const beside = visitor.page.locator("summary", { hasText: "Rotate…" });
  const before = await beside.boundingBox();
  await visitor.unfold("Revoke…", "ci");
  const after = await beside.boundingBox();
  if (after.x !== before.x || after.y !== before.y) visitor.blame("key-revoking", "moves the button beside it");
  await visitor.look("key-revoking", { at: "/account/keys?workspace=bob%2Fpersonal", see: ["Programs that use ci stop working at once."] });
  await visitor.press("Revoke ci");
  await visitor.see("key-revoked", { at: "/account/keys?notice=key_revoked", see: ["The key is revoked. It stopped working."] });
  await answered(visitor, key, 401, "invalid_api_key");
}

async function answered(visitor, key, status, type) {
  const url = given.agents + "/api/workspaces/bob/personal/keys";
  const got = await ask("send", { method: "GET", url, header: { Authorization: "Bearer " + key } });
  if (got.status !== status || JSON.parse(got.body).error.type !== type) visitor.blame("key", `is answered ${got.status} ${got.body}, want ${status} ${type}`);
}

// leave deletes the account, and takes that back by the link in the mail.
async function leave(visitor) {
  await visitor.follow("Danger zone");
  await visitor.look("danger", { at: "/account/danger", title: "Danger zone · svc", see: ["Delete this account", "For 14 days it can be restored with the link in the mail we send."] });
  await visitor.page.setViewportSize({ width: 320, height: 844 });
  const wide = await visitor.page.locator("main code").evaluate((name) => {
    const was = name.textContent;
    name.textContent = "a".repeat(39); // the longest username
    const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    name.textContent = was;
    return over;
  });
  if (wide > 0) visitor.blame("danger", `scrolls sideways by ${wide} px at 320 with a long username`);
  await visitor.page.setViewportSize({ width: 1280, height: 860 });
  await visitor.fill({ "Type bob to confirm": "bobby" });
  await visitor.press("Delete account");
  await visitor.look("danger-refused", { at: "/account/danger", status: 400, focus: "confirm", see: ["This is not the name. Type it exactly as it is shown."] });
  await visitor.fill({ "Type bob to confirm": "bob" });
  await visitor.press("Delete account");
  await visitor.look("deleting", { at: "/account/danger", see: ["Your account is being deleted", "You are signed out everywhere."] });
  await visitor.follow("Back to sign in");
  await signIn(visitor, { email: bob.email, password: next });
  await visitor.at("/login");
  visitor.settle("sign-in to what is deleted", 401);

  await visitor.open((await ask("mail", { to: bob.email })).link);
  await visitor.look("undelete", { at: "/undelete", see: ["Keep your account"], miss: ["Token"] });
  await visitor.press("Restore my account");
  await visitor.see("undeleted", { at: "/login?notice=account_restored", see: ["Your account is restored. Sign in to go on."] });
  await signIn(visitor, { email: bob.email, password: next });
  await begins(visitor, bob.username);
}
