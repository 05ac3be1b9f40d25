// An administrator sets GitHub up, people come in by it without a restart, and what GitHub refuses or takes back is told.
import { ada, approveAs, becomeAdministrator, begins, openAdmin } from "./people.mjs";
import { ask, given, perform } from "./stage.mjs";

const providers = given.admin + "/settings/providers";

await perform(async (enter) => {
  const admin = await enter();
  await becomeAdministrator(admin);
  await chooseOwner(admin);
  await approveApp(admin);
  await tryOut(admin);
  await admin.open("/account");
  await admin.press("Sign out");
  await admin.look("signed-out", { at: "/login?notice=signed_out", see: ["You are signed out.", "Continue with GitHub"], miss: ["not set up"] });

  const octocat = await enter();
  await comeInByGitHub(octocat);
  await install(octocat);
  await keepTheLastWayIn(octocat);
  await lackThePermission(await enter());
});

async function chooseOwner(admin) {
  await admin.page.getByLabel("An organization").check();
  await admin.fill({ Organization: "not--a name" });
  await admin.press("Continue");
  await admin.look("owner-refused", {
    at: providers + "?kind=org&owner=not--a+name", focus: "owner", see: ["Enter the organization's name as it stands in its GitHub address."],
  });
  await admin.fill({ Organization: "acme" });
  await admin.press("Continue");
  await admin.look("owner-chosen", { at: providers + "?kind=org&owner=acme", see: ["The organization acme Change", "Approve on 127.0.0.1"] });
}

// approveApp goes to GitHub and comes back with an app. The manifest goes by a form that posts itself.
async function approveApp(admin) {
  await admin.follow("Approve on 127.0.0.1");
  await admin.at(new RegExp("^" + given.github + "/organizations/acme/settings/apps/new"));
  await admin.press("Approve");
  await admin.look("configured", {
    at: providers + "?configured=github", title: "Sign-in providers · Admin",
    see: ["The GitHub app is set up. Sign-in with GitHub works now.", "Ready", "svc-svc.localhost", "acme organization", "Test sign-in", "Install on repositories", "Replace the app"],
  });
}

// tryOut goes the whole way round by the button of the page.
async function tryOut(admin) {
  await admin.follow("Test sign-in");
  await approveAs(admin, "adahub");
  await admin.look("tried", { at: new RegExp("^" + providers), see: ["The test confirms your own GitHub account"] });
}

// comeInByGitHub is a person who was never here.
async function comeInByGitHub(visitor) {
  await visitor.open("/login");
  await visitor.follow("Continue with GitHub");
  await visitor.at(new RegExp("^" + given.github + "/login/oauth/authorize"));
  await visitor.press("Cancel");
  await visitor.look("cancelled", { at: "/login?error=access_denied", see: ["GitHub sign-in was cancelled. Nothing has changed."] });
  await visitor.follow("Continue with GitHub");
  await approveAs(visitor, "octocat");
  await begins(visitor, "octocat");
  await visitor.open("/workspaces");
  await visitor.look("workspaces", { at: "/workspaces", title: "Workspaces · svc", see: ["Mona Lisa Octocat", "octocat/personal", "owner"] });
  await visitor.follow("Profile");
  await visitor.look("profile", { at: "/account", see: ["octocat@example.com", "Verified"], miss: ["lacks"] });
  await visitor.follow("Password");
  await visitor.look("password-unset", { at: "/account/security", see: ["Set a password", "You sign in with GitHub."] });
}

// install gives the workspace repositories, once at once and once by asking an owner.
async function install(visitor) {
  const start = "/api/auth/oauth/github/install?workspace=octocat%2Fpersonal";
  await ask("only requests", { on: true });
  await visitor.open(start);
  await visitor.at(new RegExp("^" + given.github + "/github-apps/svc-svc-localhost/installations/new"));
  await visitor.press("Approve");
  await visitor.look("waiting", {
    at: /\/api\/auth\/oauth\/github\/setup\?setup_action=request&state=/, title: "Waiting for an organization owner · svc",
    see: ["Waiting for an organization owner", "One of its owners must approve that on GitHub."],
  });
  await visitor.follow("Back to connections");
  await visitor.at("/account/connections");

  await ask("only requests", { on: false });
  await visitor.open(start);
  await visitor.page.getByLabel("Account").selectOption("acme");
  await visitor.press("Approve");
  await visitor.look("installed", { at: "/account/connections?notice=provider_installed", see: ["The app is installed.", "octocat"] });
}

// keepTheLastWayIn removes one of two connections, and then, on a page that is out of date, the other.
async function keepTheLastWayIn(visitor) {
  await visitor.open("/account/connections");
  await visitor.see("connection-last", { at: "/account/connections", see: ["The last way in. Set a password before you remove it."], miss: ["Remove…"] });
  await visitor.follow("Link GitHub");
  await approveAs(visitor, "hubot");
  await visitor.at(/\/account\/connections/);
  const old = await visitor.tab();
  await old.open("/account/connections");
  await visitor.unfold("Remove…", "hubot");
  await visitor.look("connections", { at: /\/account\/connections/, see: ["octocat", "hubot", "Remove"], miss: ["The last way in."] });
  await visitor.press("Remove hubot");
  await visitor.look("connection-removed", { at: "/account/connections?notice=identity_unlinked", see: ["The connection is removed.", "The last way in."], miss: ["hubot"] });
  await old.unfold("Remove…", "octocat");
  await old.press("Remove octocat");
  await old.look("connection-refused", { at: /\/account\/connections\/idn_\w+\/end$/, status: 409, see: ["This is the last way into your account.", "The last way in."] });
}

// lackThePermission is somebody who comes in while the app may not read addresses.
async function lackThePermission(visitor) {
  const lacking = "The GitHub app lacks the Email addresses (read) account permission; the public profile address is used and is not verified.";
  await ask("permission", { name: "emails", level: "" });
  await visitor.open("/login");
  await visitor.follow("Continue with GitHub");
  await approveAs(visitor, "hubot");
  await begins(visitor, "hubot");
  await visitor.page.getByText(lacking).waitFor();
  await visitor.open("/workspaces");
  await visitor.look("permission-missing", { at: "/workspaces", see: [lacking, "hubot/personal"] });
  await visitor.follow("Profile");
  await visitor.see("permission-missing-profile", { at: "/account", see: [lacking, "Address None"] });
  await visitor.press("Sign out");

  await visitor.fill({ "E-mail": ada.email, Password: ada.password });
  await visitor.press("Sign in");
  await visitor.open(providers);
  await openAdmin(visitor, ada);
  await visitor.look("permission-missing-admin", { at: providers, see: ["Permission missing", "The app lacks emails:read.", "set Email addresses to read-only"] });
}
