// Somebody who has read nothing goes from an empty folder to a run that they watch. They know what the screen says: controls by their roles and names,
// and of addresses the two that the service printed. No step takes more than three clicks; a table says how many it took, and how long.
// only in the soak
// with SVC_MODEL_ANTHROPIC_URL={provider}
// with SVC_MODEL_ALLOW_PRIVATE=127.0.0.0/8
import { ada, ask, bob, given, perform } from "./stage.mjs";

const most = 3; // clicks of a step

// Newcomer is somebody who does what the screen says. Their clicks are counted; typing is not clicking.
class Newcomer {
  clicks = 0;
  paused = 0; // milliseconds that were not theirs

  constructor(page) {
    this.page = page;
  }

  open(address) {
    return this.page.goto(address);
  }

  async press(name, within = this.page) {
    await this.#click(within.getByRole("button", { name, exact: true }));
  }

  async follow(name) {
    await this.#click(this.page.getByRole("link", { name, exact: true }));
  }

  // choose picks a file in the window that a button opens.
  async choose(name, file) {
    const [chooser] = await Promise.all([this.page.waitForEvent("filechooser"), this.press(name)]);
    await chooser.setFiles(file);
  }

  async #click(control) {
    this.clicks++;
    await control.first().click();
  }

  async type(fields) {
    for (const [label, text] of Object.entries(fields)) await this.page.getByLabel(label, { exact: true }).fill(text);
  }

  // pause lets somebody else look at the page.
  async pause(look) {
    const since = Date.now();
    await look();
    this.paused += Date.now() - since;
  }

  async read(text) {
    await this.page.getByText(text).filter({ visible: true }).first().waitFor();
  }
}

await perform(async (enter) => {
  const told = [];
  // step does one thing, and notes what it took.
  const step = async (name, visitor, act) => {
    const person = new Newcomer(visitor.page);
    const since = Date.now();
    await act(person);
    told.push({ name, clicks: person.clicks, seconds: (Date.now() - since - person.paused) / 1_000 });
    if (person.clicks > most) visitor.blame(name, `takes ${person.clicks} clicks`);
  };

  const admin = await enter();
  await step("become the administrator", admin, async (person) => {
    await person.open(given.setupLink);
    await person.type({ "E-mail": ada.email, Password: ada.password });
    await person.press("Create administrator");
    await person.read("built-in scripted model");
  });

  const visitor = await enter();
  await step("sign up as a customer", visitor, async (person) => {
    await person.open(given.platform);
    await person.follow("Create an account");
    await person.type({ "E-mail": bob.email, Password: bob.password });
    await person.press("Create account");
    await person.read("Three prompts that work now");
  });
  await step("have an answer in the chat", visitor, async (person) => {
    await person.press(/^Think first, then answer/);
    await person.press("Send");
    await person.read(/word0 word1/);
    await person.read(/Thought/);
  });
  await step("store a model key", visitor, async (person) => {
    await person.follow("Add a model key");
    await person.type({ "Anthropic key": given.provider.key });
    await person.press("Store and test", person.page.getByRole("region", { name: "Anthropic" }));
    await person.read(/answers\. In/);
  });
  await ask("provider says", { turns: [{ text: "A note, summed up.", seconds: 6 }] });
  await step("write an agent", visitor, async (person) => {
    await person.follow("Agents");
    await person.follow(/^Writer/);
    await person.press("Make agent");
    await person.read("writer is here. Try it on the right.");
  });
  await step("upload a file", visitor, async (person) => {
    await person.follow("Projects");
    await person.choose("Upload files", { name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("n=60 delay=20 The first note.\n") });
    await person.pause(() => visitor.picture("files"));
    await person.press("Create project");
    await person.read("1 file uploaded");
    await person.pause(() => visitor.picture("uploaded"));
  });
  await step("watch a run", visitor, async (person) => {
    await person.follow("Runs");
    await person.press("Start a run");
    await person.type({ "Project required": "notes" });
    await person.press("Start");
    await person.read("digest has started.");
    await person.read("Running");
    await person.read(/notes\.md/);
    await person.read("Completed");
  });

  const widest = Math.max(...told.map(({ name }) => name.length));
  for (const { name, clicks, seconds } of told) console.log(`${name.padEnd(widest)}  ${clicks} ${clicks === 1 ? "click " : "clicks"}  ${seconds.toFixed(1).padStart(5)} s`);
  console.log(`${"all of it".padEnd(widest)}  ${told.reduce((sum, { clicks }) => sum + clicks, 0)} clicks  ${told.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(1).padStart(5)} s`);
});
