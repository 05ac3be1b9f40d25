// What every page must be, whatever happens to it: it stands still in time, keeps its frame, and says what is wrong in words.

// glide goes to a page within the loaded application, as a link does. The page before stays until the code of the next has come. Things of one
// kind may have one page, which then stays for good.
export async function glide(visitor, at) {
  const kin = await visitor.page.evaluate((at) => {
    const kindOf = (path) => path.split("/")[path.startsWith("/w/admin/") ? 3 : 4];
    window.left = document.querySelector("main");
    const before = location.pathname;
    history.pushState({}, "", at);
    return kindOf(before) === kindOf(location.pathname);
  }, at);
  const come = visitor.page.waitForFunction(() => !window.left?.isConnected && document.querySelector("main"), undefined, { polling: 20, ...(kin && { timeout: 2_000 }) });
  await come.catch(() => {
    if (!kin) throw new Error(`the page before stays: ${at} does not come`);
  });
}

// The longest that a skeleton or a spinner may stand.
const patience = 30_000;

// still waits until nothing of the page is loading, and blames one that goes on.
export async function still(visitor, name) {
  const end = Date.now() + patience;
  for (let calm = 0; calm < 3; await visitor.page.waitForTimeout(30)) {
    const loading = await visitor.page.evaluate(busy).catch(() => ["another page"]);
    calm = loading.length === 0 ? calm + 1 : 0;
    if (Date.now() > end) return visitor.blame(name, `is still loading after 30 s: ${loading.join(", ")}`);
  }
}

// busy are the parts of the page that wait for something.
function busy() {
  const main = document.querySelector("main");
  if (!main) return ["no page"];
  const waiting = [main, ...main.querySelectorAll("*")].filter((each) => each.matches("[aria-busy=true], .wait, .skeleton, .spin") && each.checkVisibility());
  return waiting.map((each) => `${each.localName}.${[...each.classList].join(".")}`);
}

// says waits for a text on the page, and blames one that does not come.
export async function says(visitor, name, text, within = visitor.page.locator("main")) {
  await within.getByText(text).first().waitFor({ timeout: patience }).catch(async () => visitor.blame(name, `does not say ${text}, but ${JSON.stringify(await words(visitor))}`));
}

// words are what the page says, without its frame.
export async function words(visitor, tries = 3) {
  try {
    return (await visitor.page.locator("main").allInnerTexts()).join(" ").replace(/\s+/g, " ");
  } catch (gone) {
    if (tries === 0) throw gone;
    await visitor.page.waitForLoadState(); // another page comes
    return words(visitor, tries - 1);
  }
}

// prose is what the page says but for samples of code.
function prose(visitor) {
  return visitor.page.locator("main").first().evaluate((main) => {
    const samples = [...main.querySelectorAll("pre, code, textarea")].map((each) => each.innerText ?? "");
    return samples.reduce((text, sample) => text.replace(sample, " "), main.innerText).replace(/\s+/g, " ");
  });
}

// code is what no page shows: names of types, of errors and of values, for those who wrote it.
const code = /\b(undefined|NaN|null|TypeError|\[object \w+\]|Failed to fetch|[a-z]+_(?:error|not_found|required|forbidden|expired)|dynamically imported)\b|\{"/;

// plain judges the frame and the words of a page that was refused: navigation and one heading stand, and no code shows.
export async function plain(visitor, name) {
  const { page } = visitor;
  if (!(await page.getByRole("navigation", { name: "Pages" }).isVisible())) visitor.blame(name, "has lost its navigation");
  await page.locator("h1:visible").first().waitFor({ timeout: 2_000 }).catch(() => {});
  const headings = await page.locator("h1:visible").count();
  if (headings !== 1) visitor.blame(name, `has ${headings} headings of the first level`);
  const raw = code.exec(await prose(visitor));
  if (raw) visitor.blame(name, `shows code: ${raw[0]}`);
}

// What a chat waits for is asked for beside the application, before anybody knows whose page it is (web/index.html).
const askedEarly = /\/(agents\/central|models)$/;

// excuse lets go of what was refused, or did not come, as was wanted; everything else stays held against the page.
export function excuse(visitor, name, { statuses = [], early = false, offline = false } = {}) {
  visitor.refusals = visitor.refusals.filter((refusal) => !statuses.includes(refusal.status) && !(early && refusal.status === 403 && askedEarly.test(refusal.url)));
  if (offline) visitor.complaints = visitor.complaints.filter((each) => !/^(no answer|console: Failed to load resource|console: .*ERR_INTERNET_DISCONNECTED)/.test(each));
  visitor.settle(name, 200);
}
