// Where no mail is sent nobody can prove an address: whoever comes from GitHub with it may have an account without it.
import { approveAs, becomeAdministrator, begins, bob, setUpGitHub } from "./people.mjs";
import { perform } from "./stage.mjs";

await perform(async (enter) => {
  const admin = await enter();
  await becomeAdministrator(admin);
  await setUpGitHub(admin);

  const holder = await enter();
  await holder.open("/signup");
  await holder.fill({ "E-mail": "octocat@example.com", Password: bob.password, "Username optional": "admin" });
  await holder.press("Create account");
  await holder.look("username-taken", { at: "/signup", status: 409, focus: "username", see: ["This username is taken. Choose another."] });
  await holder.fill({ Password: bob.password, "Username optional": bob.username });
  await holder.press("Create account");
  await begins(holder, bob.username);

  const visitor = await enter();
  await visitor.open("/login");
  await visitor.follow("Continue with GitHub");
  await approveAs(visitor, "octocat");
  await visitor.look("link", { at: /\/login\/link\?/, see: ["Go on with a new account", "It has no e-mail address, since the other account keeps it."] });
  await visitor.press("Go on with a new account");
  await begins(visitor, "octocat");
  await visitor.page.getByText("Another account uses the e-mail address of your GitHub account; this account has none.").waitFor();
  await visitor.open("/workspaces");
  await visitor.look("workspaces", {
    at: "/workspaces", miss: ["bob"],
    see: ["octocat/personal", "Another account uses the e-mail address that GitHub gave, so this account has none."],
  });
  await holder.open("/account");
  await holder.see("holder", { at: "/account", see: ["octocat@example.com"] });
});
