// Each way in which the set-up of GitHub fails is told, and the next attempt may go well.
import { becomeAdministrator } from "./people.mjs";
import { ask, given, perform } from "./stage.mjs";

const providers = given.admin + "/settings/providers";

await perform(async (enter) => {
  const admin = await enter();
  await becomeAdministrator(admin);

  await ask("convert as", { login: "hubot" });
  await attempt(admin, { status: 409, see: ["The app belongs to somebody else than was asked for."] });
  await admin.open(providers);
  await admin.look("mismatch", { at: providers, see: ["The app was made under another owner.", "You asked for acme, and GitHub made it under hubot.", "Not set up"] });

  await ask("convert as", { login: "" });
  await ask("fail once", { route: "POST /app-manifests/{code}/conversions", status: 404 });
  await attempt(admin, { status: 502, see: ["502"] });
  await admin.open(providers);
  await admin.look("spent", { at: providers, see: ["GitHub did not take the code.", "Not set up"] });

  await ask("fail once", { route: "POST /app-manifests/{code}/conversions", status: 500 });
  await attempt(admin, { status: 502, see: ["502"] });
  await admin.open(providers);
  await admin.look("lost", { at: providers, see: ["The last set-up did not finish.", "An app named svc-svc.localhost may exist on GitHub.", "delete it there and start again"] });

  await attempt(admin, { at: providers + "?configured=github", see: ["The GitHub app is set up.", "Ready"] });
  await admin.fill({ "Type svc-svc.localhost-4 to confirm": "svc" });
  await admin.press("Replace…");
  await admin.look("replace-refused", { at: providers + "/replace", status: 400, focus: "confirm", see: ["This is not the name."] });
});

// attempt has the app made for acme, and looks at where that ends.
async function attempt(admin, expected) {
  await admin.open(providers + "?kind=org&owner=acme");
  await admin.follow("Approve on 127.0.0.1");
  await admin.at(new RegExp("^" + given.github + "/organizations/acme/settings/apps/new"));
  await admin.press("Approve");
  await admin.see("attempt", { at: /\/api\/auth\/oauth\/github\/manifest\/callback\?/, ...expected });
}
