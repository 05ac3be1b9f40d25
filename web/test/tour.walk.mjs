// The pictures that docs/tour.md shows.
// only in the soak
import { arrive, ask, given, perform } from "./stage.mjs";
import { at, digest, enterAs, enterAsStaff, follow, found, talk } from "./company.mjs";
import { forget, settled } from "./chat.mjs";
import { row } from "./runs.mjs";
import { question, unhurried } from "./story.mjs";

await perform(async (enter) => {
  await found();
  await talk("central", "night", question);
  for (const [id, text] of [["onboarding", "Draft the onboarding mail"], ["keys", "Which keys expire this month?"], ["archive", "Rename the archive project"]]) await talk("central", id, text);
  const staff = await enterAsStaff(enter);
  const visitor = await enterAs(enter, "ada");
  await follow(visitor);
  await chat(visitor);
  await agents(visitor);
  await projects(visitor);
  await people(staff);
  await run(visitor);
});

async function chat(visitor) {
  const { page } = visitor;
  await visitor.open(at("chat/night"));
  await settled(visitor, 1);
  await page.getByRole("button", { name: /^Ask agent/ }).click();
  await page.locator(".scroll").evaluate((scroll) => scroll.scrollTo(0, 0));
  await visitor.postcard("chat");
}

async function agents(visitor) {
  const { page } = visitor;
  await visitor.open(at("agents/triage"));
  await arrive(visitor, "triage");
  await page.getByRole("textbox", { name: "Message", exact: true }).fill("crm-sync and invoice-export both failed. Which one first?");
  await page.keyboard.press("Enter");
  await page.getByText("look again tomorrow").waitFor();
  await visitor.postcard("agents");
}

async function projects(visitor) {
  const { page } = visitor;
  await visitor.open(at("projects/ops/files/notes/2026-11-17.md"));
  await page.getByRole("textbox", { name: /^Text of/ }).waitFor();
  await page.waitForTimeout(300); // until the editor has coloured its text
  await visitor.postcard("projects");
}

async function people(staff) {
  const { page } = staff;
  await staff.open(`${given.admin}/people`);
  await arrive(staff, "People");
  await page.getByRole("row").filter({ hasText: "Ada Moreno" }).click();
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  await page.getByLabel("Reason").fill("Ticket 4821: invoices are missing since last night");
  await staff.postcard("people");
}

// run is one that a killed service goes on with.
async function run(visitor) {
  const { page } = visitor;
  await ask("answers", unhurried);
  await visitor.open(at(`runs/${await digest("ops", "active")}`));
  await row(visitor, "read notes/2026-11-17.md").waitFor();
  await page.waitForTimeout(1_200); // in the middle of a turn
  await ask("kill");
  await page.waitForTimeout(2_500); // so that the band can be seen
  await ask("start");
  await page.locator(".gap").waitFor();
  await row(visitor, "read prices-2026.csv").waitFor();
  await visitor.postcard("run");
  forget(visitor);
}
