// Somebody sends an image, finds it after a reload, and is told how large one may be. None is left behind: Enter waits for one that is being read,
// and what a reload could not keep is said.
// only in the soak
import { perform } from "./stage.mjs";
import { begin, chat, check, composer, forget, instanceOf, open, say, send, settled } from "./chat.mjs";

// paste gives the composer a picture as a screenshot is given.
const paste = (visitor) => composer(visitor).evaluate(async (area) => {
  const canvas = new OffscreenCanvas(320, 200);
  const pen = canvas.getContext("2d");
  pen.fillStyle = "teal";
  pen.fillRect(0, 0, 320, 200);
  const data = new DataTransfer();
  data.items.add(new File([await canvas.convertToBlob({ type: "image/png" })], "teal.png", { type: "image/png" }));
  area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
});

const lamp = (status) => ({ status, json: { error: { type: "lamp", message: "The lamp fell over.", details: "" } } });

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await begin(visitor);
  await paste(visitor);
  await visitor.page.locator(".composer .tile img").waitFor();
  await composer(visitor).fill("n=3 what is this?");
  await visitor.look("pasted", { at: chat(instanceOf(visitor)), see: ["scripted"] });
  await send(visitor).click();
  await settled(visitor, 1);
  await visitor.page.reload();
  const image = visitor.page.locator(".asked .tile img");
  await image.waitFor();
  const [width, alt] = await image.evaluate(async (img) => {
    await img.decode();
    return [img.naturalWidth, img.alt];
  });
  check(visitor, "sent", width === 320 && alt === "teal.png", `is ${width} px wide, and called ${alt}`);
  await visitor.picture("image");

  // An image that cannot be fetched is not asked again without it, and that is said.
  const images = (url) => url.pathname.includes("/attachments/");
  await page.route(images, (route) => route.fulfill(lamp(500)));
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.locator(".toast").getByText("The lamp fell over.").waitFor();
  await page.unroute(images);
  forget(visitor);

  // Enter waits for an image that is being read.
  await page.evaluate(() => {
    const read = FileReader.prototype.readAsDataURL;
    FileReader.prototype.readAsDataURL = function (blob) {
      window.release = () => read.call(this, blob);
    };
  });
  await paste(visitor);
  await page.locator(".composer .tile").waitFor();
  await say(visitor, "n=3 and this?");
  await page.getByText("This is sent when its images are read.").waitFor();
  await page.evaluate(() => window.release());
  await settled(visitor, 2);
  check(visitor, "read late", (await page.locator(".asked").nth(1).locator(".tile img").count()) === 1, "was sent without its image");

  // What is no image that a browser can make smaller is refused with its size.
  const large = Buffer.alloc(12 * 1024 * 1024, 7);
  await visitor.page.locator('input[type="file"]').setInputFiles({ name: "large.png", mimeType: "image/png", buffer: large });
  await visitor.page.getByRole("alert").getByText("large.png has 12 MB. Images may have 10.5 MB.").waitFor();
  await visitor.picture("too-large");

  // What was refused is kept over a reload; of an image that there is no room for, the name.
  await open(visitor);
  const mine = (url) => url.pathname.endsWith(`/agents/central/${instanceOf(visitor)}`);
  await page.route(mine, (route) => (route.request().method() === "POST" ? route.fulfill(lamp(507)) : route.continue()));
  await page.locator('input[type="file"]').setInputFiles({ name: "wide.png", mimeType: "image/png", buffer: Buffer.alloc(2 * 1024 * 1024, 7) });
  await say(visitor, "n=3 with a wide image");
  const note = page.locator(".standing.bad");
  await note.getByText("The lamp fell over.").waitFor();
  await page.reload();
  await note.getByText("Its images were not kept. Attach them again.").waitFor();
  check(visitor, "not kept", (await note.getByRole("button", { name: "Retry" }).count()) === 0, "can be sent without its image");
  await note.getByRole("button", { name: "Edit" }).click();
  await page.waitForFunction(() => document.querySelector(".composer textarea")?.value === "n=3 with a wide image");
  check(visitor, "not kept", (await page.locator(".composer .tile").count()) === 0, "has an image without bytes in the composer");
  forget(visitor);
});
