// Somebody makes a workspace and invites somebody else, who comes in by the link.
import { ada, bob, looksBack } from "./people.mjs";
import { ask, given, perform } from "./stage.mjs";

await perform(async (enter) => {
  const owner = await enter();
  await signUp(owner, ada);
  await make(owner);
  const link = await invite(owner, bob.email);
  const guest = await enter();
  await guest.open(link);
  await guest.look("nobody", { at: "/invitations", title: "Join a workspace · svc", see: ["Sign in with the address that the invitation went to"] });
  await guest.follow("Create an account");
  await guest.fill({ "E-mail": bob.email, Password: bob.password, "Username optional": bob.username });
  await guest.press("Create account");
  await guest.look("open", { at: "/invitations", see: ["You are signed in as bob (bob@example.com)"], miss: ["Token"] });
  await guest.press("Open the invitation");
  await guest.look("join", { at: "/invitations", see: ["ada invites you to Acme Labs (ada/acme-labs) as viewer."], miss: ["Token"] });
  await guest.press("Join");
  await guest.at(new RegExp(`^${given.agents}/w/ada/acme-labs/`));
  await guest.open("/workspaces");
  await guest.look("joined", { at: "/workspaces", see: ["Acme Labs", "ada/acme-labs · viewer"] });
  await owner.open(link);
  await owner.press("Open the invitation");
  await owner.look("spent", { at: "/invitations", status: 410, see: ["Token"] });
});

async function signUp(visitor, { email, username, password }) {
  await visitor.open("/signup");
  await visitor.fill({ "E-mail": email, Password: password, "Username optional": username });
  await visitor.press("Create account");
  await looksBack(visitor, username);
}

async function make(visitor) {
  await visitor.follow("New workspace");
  await visitor.look("new", { at: "/workspaces/new", title: "New workspace · svc", see: ["It stands in addresses, as ada/acme-labs"] });
  await visitor.fill({ "Short name": "Acme Labs" });
  await visitor.press("Create workspace");
  await visitor.look("new-refused", { at: "/workspaces/new", status: 400, focus: "business", see: ["Use lower-case letters, digits and single hyphens"] });
  await visitor.fill({ "Short name": "acme-labs", "Name optional": "Acme Labs" });
  await visitor.press("Create workspace");
  await visitor.at(new RegExp(`^${given.agents}/w/ada/acme-labs/`));
  await visitor.open("/workspaces");
  await visitor.look("made", { at: "/workspaces", see: ["Acme Labs", "ada/acme-labs · owner"] });
}

// invite is what a program does with the owner's session: the page for it comes with the web application.
async function invite(visitor, email) {
  const cookies = (await visitor.context.cookies(given.agents)).map((c) => `${c.name}=${c.value}`).join("; ");
  const { status, body } = await ask("send", {
    Method: "POST", URL: `${given.agents}/api/workspaces/ada/acme-labs/invitations`, Body: JSON.stringify({ email, role: "viewer" }),
    Header: { Cookie: cookies, Origin: given.agents, "Content-Type": "application/json" },
  });
  if (status !== 201) throw new Error(`invitation: ${status} ${body}`);
  return JSON.parse(body).acceptUrl;
}
