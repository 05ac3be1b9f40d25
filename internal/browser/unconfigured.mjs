// Where GitHub is not set up, its button says so, and so does its address.
import { ada, becomeAdministrator } from "./people.mjs";
import { given, perform } from "./stage.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  for (const [name, path] of [["login", "/login"], ["signup", "/signup"]]) {
    await visitor.open(path);
    await visitor.look(name, { at: path, see: ["Continue with GitHub", "GitHub sign-in is not set up on this server."], miss: ["Set it up"] });
    if (await visitor.page.getByRole("button", { name: "Continue with GitHub" }).isEnabled()) visitor.blame(name, "has a button that does nothing");
  }
  await visitor.open("/api/auth/oauth/github/start");
  await visitor.look("start", {
    at: "/api/auth/oauth/github/start", status: 503, title: "Not available now · svc",
    see: ["503", "GitHub login is not configured. An administrator must approve the app manifest."],
  });
  await visitor.follow("Go to svc");
  await visitor.at("/login");
  await visitor.open("/nowhere");
  await visitor.look("nowhere", { at: "/nowhere", status: 404, see: ["404", "Not here, or not yours"] });
  await visitor.open("/forgot");
  await visitor.look("forgot", { at: "/forgot", see: ["Mail is off on this server. The link is printed to the server’s log instead."] });

  await becomeAdministrator(visitor, ada);
  await visitor.open("/account/connections");
  await visitor.look("connections", { at: "/account/connections", see: ["GitHub sign-in is not set up on this server. Set it up", "Nothing is linked."] });
  await visitor.follow("Set it up");
  await visitor.at(given.admin + "/settings/providers");
});
