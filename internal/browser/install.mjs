// The set-up of GitHub ends with a button that installs the app.
import { approveAs, becomeAdministrator, setUpGitHub } from "./people.mjs";
import { given, perform } from "./stage.mjs";

await perform(async (enter) => {
  const admin = await enter();
  await becomeAdministrator(admin);
  await setUpGitHub(admin);
  await admin.follow("Test sign-in");
  await approveAs(admin, "octocat");
  await admin.at(new RegExp("^" + given.admin + "/settings/providers"));
  await admin.follow("Install on repositories");
  await admin.page.getByLabel("Account").selectOption("octocat");
  await admin.press("Approve");
  await admin.look("installed", { at: /notice=provider_installed/, see: ["The app is installed."] });
});
