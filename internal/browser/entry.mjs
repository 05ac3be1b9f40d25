// Somebody signs up, out and in, is told the same whatever is wrong, and comes back in with a forgotten password.
import { begins, bob, looksBack, signIn } from "./people.mjs";
import { ask, perform } from "./stage.mjs";

const wrong = "Email or password is incorrect.";

await perform(async (enter) => {
  const visitor = await enter();
  await signUp(visitor);
  await keepTheDeepLink(visitor);
  await visitor.press("Sign out");
  await visitor.at("/login?notice=signed_out");
  await beRefusedAlike(visitor);
  await forget(visitor);
});

async function signUp(visitor) {
  await visitor.open("/login");
  await visitor.look("login", { at: "/login", title: "Sign in · svc", see: ["or with your e-mail", "New here? Create an account"] });
  await visitor.follow("Create an account");
  await visitor.look("signup", { at: "/signup", title: "Create an account · svc", see: ["We send a mail to check the address."] });
  await visitor.fill({ "E-mail": bob.email, Password: "bob@example.com", "Username optional": "admin", "Name optional": "Bob Stone" });
  await visitor.press("Create account");
  await visitor.look("signup-refused", { at: "/signup", status: 400, focus: "password", see: ["This password is too easy to guess."] });
  await visitor.fill({ Password: bob.password, "Username optional": bob.username });
  await visitor.press("Create account");
  await visitor.look("signup-sent", { at: "/signup/sent", title: "Check your mail · svc", see: ["We sent you a mail.", "Open the link in it within 24 hours"] });

  const { link } = await ask("mail", { to: bob.email });
  await visitor.open(link);
  await visitor.look("verify", { at: "/verify", title: "Verify your e-mail address · svc", see: ["Press the button to say that this address is yours."], miss: ["Token"] });
  await visitor.press("Verify address");
  await visitor.see("verified", { at: "/login?notice=email_verified", see: ["Your e-mail address is verified. Sign in to go on."] });
  await visitor.open(link);
  await visitor.press("Verify address");
  await visitor.look("verify-spent", { at: "/verify", status: 400, see: ["Token"] });
}

// keepTheDeepLink goes to a page that asks for a sign-in first.
async function keepTheDeepLink(visitor) {
  await visitor.open("/account/sessions");
  await visitor.at("/login?returnTo=%2Faccount%2Fsessions");
  await visitor.follow("Create an account");
  await visitor.at("/signup?returnTo=%2Faccount%2Fsessions");
  await visitor.follow("Sign in");
  await visitor.fill({ "E-mail": bob.email, Password: "not the password at all" });
  await visitor.press("Sign in");
  await visitor.at("/login");
  visitor.settle("deep link refused", 401);
  await signIn(visitor, bob);
  await visitor.look("deep-link", { at: "/account/sessions", title: "Sessions · svc", see: ["Bob Stone", "This session"] });
  await visitor.open("/login");
  await looksBack(visitor, bob.username);
}

// beRefusedAlike compares what an unknown address and a wrong password are told.
async function beRefusedAlike(visitor) {
  const texts = [];
  for (const [name, email] of [["wrong-password", bob.email], ["unknown-email", "nobody@example.com"]]) {
    await visitor.open("/login");
    await signIn(visitor, { email, password: "not the password at all" });
    await visitor.see(name, { at: "/login", status: 401, see: [wrong] });
    if ((await visitor.page.getByLabel("E-mail").inputValue()) !== email) visitor.blame(name, "forgets the address");
    if ((await visitor.page.getByLabel("Password").inputValue()) !== "") visitor.blame(name, "keeps the password");
    texts.push(await visitor.text());
  }
  await visitor.picture("refused");
  if (texts[0] !== texts[1]) visitor.blame("login", `tells them apart: ${texts.join(" / ")}`);
}

async function forget(visitor) {
  await visitor.open("/login");
  await visitor.follow("Forgot it?");
  await visitor.look("forgot", { at: "/forgot", title: "Forgot your password · svc", see: ["If there is an account, we send a link"] });
  await visitor.fill({ "E-mail": bob.email });
  await visitor.press("Send the link");
  await visitor.look("forgot-sent", { at: "/forgot/sent", title: "Check your mail · svc", see: ["If there is an account for that address, a mail is on its way."] });

  const { link } = await ask("mail", { to: bob.email });
  await visitor.open(link);
  await visitor.look("reset", { at: "/reset", title: "Choose a new password · svc", miss: ["Token"], see: ["Every session and API key of the account ends"] });
  await visitor.fill({ "New password": "short" });
  await visitor.press("Change password");
  await visitor.look("reset-refused", { at: "/reset", status: 400, focus: "newPassword", see: ["Use at least 12 characters."], miss: ["Token"] });
  await visitor.fill({ "New password": "three stones in the river" });
  await visitor.press("Change password");
  await visitor.look("reset-done", { at: "/login?notice=password_reset", see: ["Your password is changed and every session is ended."] });
  await signIn(visitor, bob);
  await visitor.at("/login");
  visitor.settle("old password", 401);
  await signIn(visitor, { email: bob.email, password: "three stones in the river" });
  await begins(visitor, bob.username);
}
