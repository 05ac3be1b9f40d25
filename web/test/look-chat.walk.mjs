// Pictures of the chat and of the frame around every page, in each state.
// only in the soak
import { given, perform } from "./stage.mjs";
import { at, enterAs, found, talk } from "./company.mjs";
import { composer, forget, say, send, settled } from "./chat.mjs";
import { next, question } from "./story.mjs";

await perform(async (enter) => {
  await found();
  await talk("central", "night", question);
  await talk("central", "prices", "Compare the two price lists");
  for (const [id, text] of [["onboarding", "Draft the onboarding mail"], ["keys", "Which keys expire this month?"], ["archive", "Rename the archive project"]]) await talk("central", id, text);
  const visitor = await enterAs(enter, "ada");
  await conversation(visitor);
  await streaming(visitor);
  await frame(visitor);
  await welcome(visitor);
});

// conversation is read from its end to its beginning, with everything that folds open.
async function conversation(visitor) {
  const { page } = visitor;
  await visitor.open(at("chat/night"));
  await settled(visitor, 1);
  await visitor.picture("conversation-end");
  await page.getByRole("button", { name: /^Thought/ }).first().click();
  await page.getByRole("button", { name: /^Ask agent/ }).click();
  await page.locator(".scroll").evaluate((scroll) => scroll.scrollTo(0, 0));
  await visitor.picture("conversation");
  await page.keyboard.press("Control+f");
  await page.keyboard.insertText("Kral");
  await visitor.picture("find");
  await page.keyboard.press("Escape");
  await visitor.open(at("chat/prices"));
  await page.locator(".failure").waitFor();
  await visitor.picture("failed");
}

// streaming is a reply that has begun, with a prompt that waits behind it; then it is stopped.
async function streaming(visitor) {
  const { page } = visitor;
  await visitor.open(at("chat/night"));
  await settled(visitor, 1);
  await say(visitor, next);
  await page.getByText("They").first().waitFor();
  await say(visitor, "Then tell the account team which customers are affected");
  await page.getByRole("list", { name: "Waiting prompts" }).waitFor();
  await page.waitForTimeout(800);
  await visitor.picture("streaming");
  await send(visitor).click();
  await page.getByText(/Stopped after/).waitFor();
  await visitor.picture("stopped");
  await composer(visitor).fill("");
}

// frame is what stands around every page: menus, palette, keys, and what is said when nothing can be reached.
async function frame(visitor) {
  const { page } = visitor;
  await visitor.open(at("chat/night"));
  await settled(visitor, 1);
  await page.getByRole("button", { name: /Northwind/ }).first().click();
  await visitor.picture("switcher");
  await page.keyboard.press("Escape");
  await page.locator(".me-menu").click();
  await visitor.picture("account-menu");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /Jump to/ }).waitFor();
  await visitor.picture("palette");
  await page.keyboard.insertText("tri");
  await visitor.picture("palette-found");
  await page.keyboard.insertText("xyz");
  await visitor.picture("palette-none");
  await page.keyboard.press("Escape");
  await page.locator("h1").first().click();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  await visitor.picture("keys");
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("button", { name: /menu/i }).first().click();
  await page.waitForTimeout(400);
  await visitor.shoot("look-chat.walk-drawer-390-light");
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 1280, height: 860 });
  await visitor.context.setOffline(true);
  await page.getByText("Offline", { exact: true }).first().waitFor();
  await visitor.picture("offline");
  await visitor.context.setOffline(false);
  forget(visitor);
}

// welcome is a workspace that has nothing yet.
async function welcome(visitor) {
  await visitor.open(`${given.agents}/w/ada/labs/chat`);
  await visitor.page.getByText("Three prompts that work now").waitFor();
  await visitor.picture("welcome");
  await visitor.open(at("chat"));
  await composer(visitor).waitFor();
  await visitor.picture("new");
  await visitor.open(at("nothing-of-that-name"));
  await visitor.page.getByText("Not here").waitFor();
  await visitor.picture("not-here");
  forget(visitor);
}
