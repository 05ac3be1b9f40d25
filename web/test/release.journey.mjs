// The service is replaced by a new release under an open tab: one bar says so, the tab goes on with the files that it was made of, and what was typed
// is there after the reload. Two releases later its files are gone, which is said too.
// only in the soak
import { ask, goTo, perform } from "./stage.mjs";
import { begin, check, composer, equal, forget, say, settled } from "./chat.mjs";

const draft = "a draft that outlives the release";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await begin(visitor);
  await say(visitor, "n=5");
  await settled(visitor, 1);
  const bar = page.getByRole("region", { name: "Notices" }).getByText("There is a new version. What you typed is kept.");
  await composer(visitor).fill(draft);

  await ask("release", { name: "second" });
  await bar.waitFor();
  forget(visitor); // nobody answered meanwhile
  const asked = keepTrack(page);
  const talk = page.url();
  // A page that was not looked at before has parts of its own.
  await goTo(visitor, "Projects");
  await goTo(visitor, "Storage");
  check(visitor, "before the reload", asked.length > 0 && asked.every((file) => !file.startsWith("second-")), `loaded ${asked.join()}`);
  check(visitor, "before the reload", (await bar.count()) === 1, `has ${await bar.count()} bars`);
  await page.goBack();
  await page.goBack();
  await visitor.at(talk);
  await composer(visitor).waitFor();
  await visitor.look("new-version", { at: talk, see: ["There is a new version. What you typed is kept.", "word0 word1"] });

  asked.length = 0;
  await visitor.go(page.getByRole("region", { name: "Notices" }).getByRole("button", { name: "Reload" }));
  await composer(visitor).waitFor();
  check(visitor, "reloaded", (await composer(visitor).inputValue()) === draft, "the draft is gone");
  check(visitor, "reloaded", asked.length > 0 && asked.every((file) => file.startsWith("second-")), `loaded ${asked.join()}`);
  check(visitor, "reloaded", (await bar.count()) === 0, "still says that there is a new version");
  await equal(visitor, "reloaded");

  // This tab is of the second release. With the third it still finds its files, with the fourth no more.
  const late = await visitor.tab();
  await late.open(talk);
  await composer(late).waitFor();
  await ask("release", { name: "third" });
  await ask("release", { name: "fourth" });
  forget(visitor);
  await visitor.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Agents" }).click();
  await bar.waitFor();
  check(visitor, "too old", (await bar.count()) === 1, `has ${await bar.count()} bars`);
  await visitor.page.getByRole("heading", { level: 1, name: "Agents" }).waitFor(); // its part is not there, and it says so
  forget(visitor);
  await page.getByRole("region", { name: "Notices" }).getByRole("button", { name: "Reload" }).click();
  await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  await late.page.getByRole("region", { name: "Notices" }).getByText("There is a new version.").waitFor();
  await composer(late).fill("typed in the other tab");
  await late.page.reload();
  await composer(late).waitFor();
  check(late, "too old", (await composer(late).inputValue()) === "typed in the other tab", "the draft is gone");
  forget(late);
});

// keepTrack notes the names of the parts that a page loads.
function keepTrack(page) {
  const files = [];
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith("/assets/") && response.status() === 200) files.push(pathname.split("/").pop());
  });
  return files;
}
