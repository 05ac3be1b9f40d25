// Starts the browser that all scripts share, says where it is found, and ends it when nobody listens any more.
import { chromium } from "playwright-core";

const server = await chromium.launchServer({
  executablePath: process.argv[2],
  chromiumSandbox: false,
  args: ["--host-resolver-rules=MAP *.localhost 127.0.0.1, MAP *.example.com 127.0.0.1", "--disable-gpu"],
});
process.stdout.write(server.wsEndpoint() + "\n");
process.stdin.resume();
process.stdin.on("end", async () => {
  await server.close();
  process.exit();
});
