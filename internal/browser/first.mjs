// The first administrator comes in by the link that the service printed.
import { ada, begins, openAdmin } from "./people.mjs";
import { given, perform } from "./stage.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  await visitor.open(given.setupLink);
  await visitor.look("setup", { at: "/setup", title: "Set up · svc", see: ["Make the first administrator. This works once."], miss: ["Set-up token"] });

  await visitor.fill({ "E-mail": "ada", Password: "too short", "Username optional": "Ada!" });
  await visitor.press("Create administrator");
  await visitor.look("setup-refused", {
    at: "/setup", status: 400, focus: "email", miss: ["Set-up token"],
    see: ["Enter an e-mail address like name@example.com.", "Use at least 12 characters.", "Use lower-case letters, digits and single hyphens"],
  });

  await visitor.fill({ "E-mail": ada.email, Password: ada.password, "Username optional": ada.username });
  await visitor.press("Create administrator");
  await begins(visitor, ada.username);
  await visitor.open(given.admin + "/settings/providers");
  await visitor.look("elevate", {
    at: `${given.admin}/elevate?returnTo=${encodeURIComponent(given.admin + "/settings/providers")}`, see: ["Admin acts on the whole service, so it opens apart from the rest, for you alone."],
  });
  await openAdmin(visitor, ada);
  await visitor.look("providers", {
    at: given.admin + "/settings/providers", title: "Sign-in providers · Admin",
    see: ["GitHub", "Not set up", "Who owns the app on GitHub?", "Email addresses, read", "Choose the owner first."],
  });

  const late = await enter();
  await late.open(given.setupLink);
  await late.look("setup-closed", { at: given.setupLink, see: ["Set-up is done", "svc admin grant"] });
});
