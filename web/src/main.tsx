import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { QueryClient, QueryClientProvider, type Query } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import "./look/tokens.css";
import "./look/base.css";
import "./look/controls.css";
import "./look/rows.css";
import "./look/code.css";
import "./look/figures.css";
import "./look/shell.css";
import { ToastProvider } from "./kit/Toast";
import { renewAfter } from "./server/part";
import { place } from "./server/place";
import { routerOf } from "./routes";

/** How long an answer counts as new, also one that was a refusal, in milliseconds. */
const fresh = 5_000;

function longAgo({ state }: Pick<Query, "state">): boolean {
  return Date.now() - state.errorUpdatedAt > fresh;
}

// The client repeats what may be repeated by itself, and what was refused a moment ago is not asked again by whoever shows it next. Without a
// network a question fails like any other, so that its page can say so. What was read stays for a while: going back shows it at once.
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, retryOnMount: longAgo, networkMode: "always", refetchOnReconnect: true, staleTime: fresh, gcTime: 600_000 } },
});

function onCaughtError(error: unknown): void {
  renewAfter(error);
  console.error(error);
}

document.documentElement.classList.toggle("adm", place.surface === "admin");

const root = document.getElementById("root");
if (root) {
  createRoot(root, { onCaughtError }).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <ToastProvider>
          <RouterProvider router={routerOf(place.surface)} />
        </ToastProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}
