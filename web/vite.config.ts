import react from "@vitejs/plugin-react";
import type { ProxyOptions } from "vite";
import { defineConfig } from "vitest/config";

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

export default defineConfig({
  plugins: [react()],
  // One React and one client, wherever the packages beside this one keep theirs.
  resolve: { dedupe: ["react", "react-dom", "@svc/sdk"] },
  server: { host: "127.0.0.1", port: 5173, allowedHosts: [".svc.localhost"], proxy: { "^/(api|v1)/": passed } },
  build: { target: "es2023", assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 800 },
  test: { include: ["src/**/*.test.{ts,tsx}"] },
});
