// Somebody starts a run that fails, is led to its cause, and finds it again in the list, by its address and by going back.
import { ada, arrive, goTo, of, perform, signUp } from "./stage.mjs";
import { base, call, check, row, status } from "./runs.mjs";

const fallen = { status: 500, json: { error: { type: "internal_error", message: "The lamp fell over.", details: "" } } };

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await signUp(visitor, ada);
  await goTo(visitor, "Runs");
  await visitor.look("empty", { at: of("ada", "personal", "runs"), title: "Runs · Personal", see: ["Nothing has run yet"] });

  // The form is made from the workflow's schema, and says what is missing before anything starts.
  await page.getByRole("button", { name: "Start a run" }).first().click();
  await page.getByRole("combobox", { name: "Workflow" }).waitFor();
  await page.getByLabel("Project required").waitFor();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByText("This is needed.").waitFor();
  check(visitor, "start", (await page.getByLabel("Project required").getAttribute("aria-invalid")) === "true", "does not mark the field that is wrong");
  await visitor.picture("start");
  await page.getByLabel("Project required").fill("nothing");
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  check(visitor, "start", JSON.parse(await page.getByLabel("Input", { exact: true }).inputValue()).project === "nothing", "does not hold in JSON what the form held");
  await page.getByRole("button", { name: "Start", exact: true }).click();

  // The run opens on what failed, with its cause.
  await arrive(visitor, "digest");
  await status(visitor, "Failed");
  const failed = page.getByRole("complementary", { name: "Selected span" });
  await failed.getByText("There is no project named \"nothing\".").waitFor();
  check(visitor, "failed", (await row(visitor, "list files").getAttribute("aria-selected")) === "true", "does not select the step that failed");
  const address = new URL(page.url());
  check(visitor, "failed", address.searchParams.get("span") === "step.1", `does not name the span in the address, but ${address.search}`);
  await visitor.look("failed", { at: page.url(), title: /^! run_\w+…\w+ · digest · Runs · Personal$/, see: ["ItemNotFound", "1 failure", "choose model"] });

  // Closed, `n` leads back to it; the arrows move, and what they reach is shown.
  await failed.getByRole("button", { name: "Close the inspector" }).click();
  await failed.waitFor({ state: "detached" });
  await page.keyboard.press("n");
  await failed.getByText("ItemNotFound").waitFor();
  await row(visitor, "list files").and(page.locator(":focus")).waitFor();
  await page.keyboard.press("ArrowUp");
  await failed.getByText("choose model").waitFor();

  // Another view is a place to go back from.
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByRole("button", { name: /run_end/ }).click();
  await visitor.look("events", { at: page.url(), see: ["Save NDJSON", "run_start"] });
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save NDJSON" }).click()]);
  check(visitor, "events", /^run_\w{26}\.ndjson$/.test(saved.suggestedFilename()), `saves ${saved.suggestedFilename()}`);
  await page.getByRole("tab", { name: "Input and result" }).click();
  await visitor.look("input", { at: page.url(), see: ["Input", "Error", "nothing"] });
  await page.getByRole("tab", { name: "Conversation" }).click();
  await page.getByText("No agent has spoken").waitFor();
  await page.goBack();
  await page.goBack();
  await page.getByRole("tab", { name: "Events", selected: true }).waitFor();
  await page.goBack();
  await page.getByRole("tab", { name: "Timeline", selected: true }).waitFor();
  await failed.getByText("choose model").waitFor();

  // A link to a span opens it.
  await visitor.open(address.href);
  await failed.getByText("There is no project named").waitFor();

  // Events that do not come say why, and come when they can.
  const events = (url) => url.pathname.startsWith("/v1/") && url.pathname.includes("/runs/");
  await page.route(events, (route) => route.fulfill({ status: 500, headers: { "retry-after": "600" }, json: { error: { type: "lamp", message: "The lamp fell over.", details: "" } } }));
  await visitor.open(address.href);
  await page.getByRole("alert").getByText("The lamp fell over.").waitFor();
  await page.unroute(events);
  await page.getByRole("button", { name: "Try again" }).click();
  await failed.getByText("There is no project named").waitFor();
  visitor.refusals = visitor.refusals.filter((each) => each.status !== 500);

  // The list shows the cause, narrows by its address, and leads back.
  await page.getByRole("link", { name: "Runs" }).first().click();
  await arrive(visitor, "Runs");
  await visitor.look("list", { at: of("ada", "personal", "runs"), see: ["digest", "Failed", "ItemNotFound", "There is no project"] });
  await page.getByRole("button", { name: "Completed", exact: true }).click();
  await page.getByText("Nothing matches").waitFor();
  await visitor.at(of("ada", "personal", "runs?status=completed"));
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await page.getByRole("list", { name: "Runs" }).getByRole("link").first().focus();
  await page.keyboard.press("x");
  await page.getByText("1 selected").waitFor();
  await visitor.picture("selected");
  await page.getByRole("region", { name: "Selected runs" }).getByRole("button", { name: "Run again" }).click();
  await page.getByRole("button", { name: "Start this run" }).click();
  await page.getByText("One run is started.").waitFor();
  await page.getByText("All 2").waitFor();

  // What fails of many is tried again alone: the others are not started twice.
  await page.getByRole("list", { name: "Runs" }).getByRole("link").first().focus();
  for (const key of ["x", "j", "x"]) await page.keyboard.press(key);
  await page.getByText("2 selected").waitFor();
  let starts = 0;
  await page.route(/\/workflows\/digest\/run$/, (route) => (++starts === 2 ? route.fulfill(fallen) : route.continue()));
  await page.getByRole("region", { name: "Selected runs" }).getByRole("button", { name: "Run again" }).click();
  await page.getByRole("button", { name: "Start 2 runs" }).click();
  await page.getByRole("dialog").getByText("The lamp fell over.").waitFor();
  await page.getByRole("button", { name: "Start this run" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByText("All 4").waitFor();
  const runs = (await call(visitor, "GET", `${base}/runs`)).items.length;
  check(visitor, "many", runs === 4, `are ${runs} runs`);

  // A list whose newest rows cannot be read does not call itself live.
  await status(visitor, "Live");
  const newest = /\/personal\/runs(\?|$)/;
  await page.route(newest, (route) => route.fulfill(fallen));
  await status(visitor, "Reconnecting");
  await page.getByText("What you see is from before.").waitFor();
  await page.unroute(newest);
  await status(visitor, "Live");
  visitor.refusals = visitor.refusals.filter((each) => each.status !== 500);

  await visitor.open(of("ada", "personal", "runs/run_01M7MM1ABM91VS85XG24DCF3YM"));
  await page.getByText("Not here, or not yours.").waitFor();
  visitor.refusals = visitor.refusals.filter((each) => each.status !== 404);
});
