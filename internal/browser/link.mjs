// A GitHub identity whose address an account has is linked by that account's password, and in no other browser.
import { approveAs, becomeAdministrator, begins, setUpGitHub } from "./people.mjs";
import { ask, perform } from "./stage.mjs";

const mona = { email: "octocat@example.com", username: "mona", password: "a lamp beside the window" };

await perform(async (enter) => {
  const admin = await enter();
  await becomeAdministrator(admin);
  await setUpGitHub(admin);
  await ask("member", mona);

  const visitor = await enter();
  await visitor.open("/account/connections");
  await visitor.follow("Continue with GitHub");
  await approveAs(visitor, "octocat");
  await visitor.look("link", {
    at: /\/login\/link\?/, title: "Link GitHub · svc", miss: ["Go on with a new account"],
    see: ["You come from GitHub as octocat. An account with this e-mail address exists already.", "Sign in with its password once"],
  });

  const thief = await enter();
  await thief.open(visitor.page.url());
  await thief.look("link-elsewhere", { at: visitor.page.url(), status: 400, see: ["400"], miss: ["octocat"] });

  await visitor.fill({ Password: "not the password at all" });
  await visitor.press("Sign in and link GitHub");
  await visitor.look("link-refused", { at: "/login/link", status: 401, see: ["Email or password is incorrect.", "octocat"] });
  await visitor.fill({ Password: mona.password });
  await visitor.press("Sign in and link GitHub");
  await visitor.look("linked", { at: "/account/connections?notice=identity_linked", see: ["GitHub is linked. You can sign in with it from now on.", "octocat", "Remove…"] });
  const { subject } = await ask("mail", { to: mona.email });
  if (subject !== "A new way to sign in was added") visitor.blame("linked", `is told by a mail "${subject}"`);

  await visitor.press("Sign out");
  await visitor.follow("Continue with GitHub");
  await approveAs(visitor, "octocat");
  await begins(visitor, "mona");
});
