// Somebody sends an image, finds it after a reload, and is told how large one may be.
// only in the soak
import { perform } from "./stage.mjs";
import { begin, chat, check, composer, instanceOf, send, settled } from "./chat.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  await begin(visitor);
  // A picture is pasted as a screenshot is.
  await composer(visitor).evaluate(async (area) => {
    const canvas = new OffscreenCanvas(320, 200);
    const pen = canvas.getContext("2d");
    pen.fillStyle = "teal";
    pen.fillRect(0, 0, 320, 200);
    const data = new DataTransfer();
    data.items.add(new File([await canvas.convertToBlob({ type: "image/png" })], "teal.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  });
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

  // What is no image that a browser can make smaller is refused with its size.
  const large = Buffer.alloc(12 * 1024 * 1024, 7);
  await visitor.page.locator('input[type="file"]').setInputFiles({ name: "large.png", mimeType: "image/png", buffer: large });
  await visitor.page.getByRole("alert").getByText("large.png has 12 MB. Images may have 10.5 MB.").waitFor();
  await visitor.picture("too-large");
});
