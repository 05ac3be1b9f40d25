// From an empty folder to the first reply: the set-up link, the administrator, their workspace, and a prompt that is filled in.
import { given, perform } from "./stage.mjs";
import { check, composer, settled } from "./chat.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const began = Date.now();
  await visitor.open(given.setupLink);
  await visitor.fill({ "E-mail": "ada@example.com", Password: "seven quiet boats at noon", "Username optional": "ada" });
  await visitor.press("Create administrator");
  await visitor.at(new RegExp(`^${given.agents}/w/ada/personal/chat/`));
  await visitor.page.getByText("built-in scripted model").waitFor();
  await visitor.page.waitForFunction(() => document.querySelector(".composer textarea")?.value === "n=400 delay=20");
  await composer(visitor).press("Enter");
  await visitor.page.getByText("word10").first().waitFor();
  const took = (Date.now() - began) / 1_000;
  console.log(`from the set-up link to the first words of a reply: ${took.toFixed(1)} s (60 at most)`);
  check(visitor, "first", took < 60, `took ${took} s`);
  await settled(visitor, 1);
});
