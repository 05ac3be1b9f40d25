// Starts the browser that all scripts share, says where it is found, and ends it when nobody listens any more.
import { chromium } from "playwright-core";
import { settings } from "./chromium.mjs";

const server = await chromium.launchServer(settings(process.argv[2]));
process.stdout.write(server.wsEndpoint() + "\n");
process.stdin.resume();
process.stdin.on("end", async () => {
  await server.close();
  process.exit();
});
