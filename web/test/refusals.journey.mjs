// Every page, for those who may not see it: signed out, of another customer, not of the staff, or looking for what is not there. Each says so
// in the same words and keeps its frame. The pages are those of the route list. (interface.md 5; all of them in the soak)
import { ada, becomeAdministrator, bob, given, openAdmin, perform, signUp } from "./stage.mjs";
import { excuse, plain, says, still } from "./judge.mjs";
import { furnish, missingOn, nothing, pagesOn } from "./pages.mjs";

const surfaces = given.everyPage ? ["agents", "platform", "admin"] : ["agents"];
const notHere = "Not here, or not yours.";

await perform(async (enter) => {
  const staff = await enter();
  if (given.everyPage) await becomeAdministrator(staff, ada, openAdmin);
  else await signUp(staff, ada);
  const world = given.everyPage ? await furnish(staff) : nothing;

  const nobody = await enter();
  for (const surface of surfaces) for (const page of pagesOn(surface, world)) await leadsToTheSignIn(nobody, page);

  const bobs = await enter();
  await signUp(bobs, bob);
  for (const surface of surfaces.filter((each) => each !== "admin")) {
    for (const page of pagesOn(surface, world)) await isNotThere(bobs, page, `${page.name}, of another customer`);
    if (given.everyPage) for (const page of pagesOn(surface, world, "nobody/nothing")) await isNotThere(bobs, page, `${page.name}, of no workspace`);
  }
  if (given.everyPage) for (const page of pagesOn("admin", world)) await isForStaff(bobs, page);

  for (const surface of surfaces) for (const page of missingOn(surface, world)) await isNotThere(staff, page, page.name);
});

// leadsToTheSignIn opens a page without a session: the sign-in is shown, and leads back.
async function leadsToTheSignIn(visitor, { at, name }) {
  await visitor.open(at);
  const { origin, pathname, searchParams } = new URL(visitor.page.url());
  const back = searchParams.get("returnTo") ?? "";
  if (origin + pathname !== `${given.platform}/login`) visitor.blame(name, `leads to ${visitor.page.url()} without a session`);
  else if (new URL(back, given.platform).href !== at) visitor.blame(name, `would come back to ${back}`);
  visitor.settle(name, 200);
}

// isNotThere opens a page of somebody else, or of nobody: both look the same.
async function isNotThere(visitor, { at }, name) {
  await visitor.open(at);
  await says(visitor, name, notHere);
  await still(visitor, name);
  await plain(visitor, name);
  excuse(visitor, name, { statuses: [404] });
}

// isForStaff is a customer at the door of Admin.
async function isForStaff(visitor, { at, name }) {
  await visitor.open(at);
  await visitor.see(name, { at: new RegExp(`^${given.admin}/`), status: 403, see: ["Only staff"] });
}
