// The page of svc dev: what is declared is tried out and its events come live; a mistake is shown wherever a page is opened, and goes with its mending.
import { ask, given, perform } from "./stage.mjs";

const at = `${given.platform}/_svc`;

await perform(async (enter) => {
  const author = await enter();
  const { page } = author;
  const add = page.locator("#workflow-add"), helper = page.locator("#agent-helper"), orders = page.locator("#channel-orders");
  const shows = (part, text) => part.locator(".answer", { hasText: text }).waitFor();

  await author.open("/_svc");
  await author.look("page", { at, title: "shop · svc dev", see: ["workflow add", "Adds two numbers.", "agent helper", "channel orders"] });

  await add.getByLabel("input").fill('{"a":2,"b":3}');
  await add.getByRole("button", { name: "Run" }).click();
  await shows(add, '"result":5');
  await helper.getByLabel("message").fill("look_up");
  await helper.getByRole("button", { name: "Send" }).click();
  await shows(helper, 'The tool says {"found":"7"}');
  await shows(helper, "submission-settled");
  await orders.getByRole("button", { name: "Send" }).click();
  await shows(orders, "202 ");
  await author.look("tried", { at });

  await ask("save", { file: "src/workflows/add.ts", text: "export const description = ;\n" });
  await page.locator("#failure").getByText("src/workflows/add.ts:1:").waitFor();
  await author.look("broken", { at, see: ["The project cannot be built", "The last good build goes on serving."] });
  const visitor = await enter();
  await visitor.open("/");
  await visitor.look("failure", { at: "/", status: 500, see: ["The project cannot be built", "src/workflows/add.ts:1:"] });

  await ask("save", { file: "src/workflows/add.ts", text: given.mended });
  await add.getByText("Adds them.").waitFor();
  await visitor.page.getByText("a shop").waitFor();
  await author.see("mended", { at, see: ["Adds them."], miss: ["The project cannot be built"] });
  if ((await helper.getByLabel("message").inputValue()) !== "look_up") throw new Error("what was typed is gone");
});
