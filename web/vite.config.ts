import react from "@vitejs/plugin-react";
import type { ProxyOptions } from "vite";
import { defineConfig } from "vitest/config";
import { brotli, chatSooner } from "./sooner";

// The service that the development server stands in front of: `svc serve`, by its port.
const service = process.env["SVC_PORT"] ?? "8080";

// A surface is known by its host: the name stays, only the port becomes that of the service.
const passed: ProxyOptions = {
  target: `http://127.0.0.1:${service}`,
  configure(proxy) {
    proxy.on("proxyReq", (outgoing, request) => {
      outgoing.setHeader("host", (request.headers.host ?? "").replace(/:\d+$/, `:${service}`));
    });
  },
};

// What several pages are made of comes with the application: a file for each would take longer to ask for than to read.
const small = { name: "kit", test: /\/src\/(kit\/|markdown\/plain)/, minShareCount: 2 };

export default defineConfig({
  plugins: [react(), chatSooner(), brotli()],
  // One React and one client, wherever the packages beside this one keep theirs.
  resolve: { dedupe: ["react", "react-dom", "@svc/sdk"] },
  server: { host: "127.0.0.1", port: 5173, allowedHosts: [".svc.localhost"], proxy: { "^/(api|v1)/": passed } },
  build: { target: "es2023", assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 800, rolldownOptions: { output: { codeSplitting: { groups: [small] } } } },
  test: { include: ["src/**/*.test.{ts,tsx}"] },
});
