// Without scripts everything works too; what a script would take from the address is pasted by hand.
import { bob, signIn } from "./people.mjs";
import { ask, given, perform } from "./stage.mjs";

await perform(async (enter) => {
  const visitor = await enter({ scripts: false });
  await visitor.open("/signup?returnTo=%2Faccount");
  await visitor.fill({ "E-mail": bob.email, Password: bob.password, "Username optional": bob.username });
  await visitor.press("Create account");
  await visitor.at("/signup/sent");

  const first = await ask("mail", { to: bob.email });
  await visitor.open(first.link);
  await visitor.look("verify", { at: first.link, see: ["Token", "Paste the link, or what follows #t= in it."] });
  await visitor.fill({ Token: first.link });
  await visitor.press("Verify address");
  await visitor.see("verified", { at: "/login?notice=email_verified", see: ["Your e-mail address is verified."] });

  await signIn(visitor, { email: bob.email, password: "not the password at all" });
  await visitor.look("refused", { at: "/login", status: 401, see: ["Email or password is incorrect."] });
  await signIn(visitor, bob);
  await visitor.see("no application", { at: `${given.agents}/`, see: ["The workspace needs scripts."] });
  await visitor.follow("Your workspaces and account");
  await visitor.see("workspaces", { at: "/workspaces", see: ["bob/personal"] });
  await visitor.press("Sign out");
  await visitor.at("/login?notice=signed_out");

  await visitor.open("/forgot");
  await visitor.fill({ "E-mail": bob.email });
  await visitor.press("Send the link");
  const second = await ask("mail", { to: bob.email });
  await visitor.open("/reset");
  await visitor.fill({ Token: new URL(second.link).hash.slice("#t=".length), "New password": "three stones in the river" });
  await visitor.press("Change password");
  await visitor.at("/login?notice=password_reset");
  await signIn(visitor, { email: bob.email, password: "three stones in the river" });
  await visitor.at(`${given.agents}/`);
});
