import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import "./look/tokens.css";
import "./look/base.css";
import "./look/controls.css";
import "./look/rows.css";
import "./look/code.css";
import "./look/figures.css";
import "./look/shell.css";
import { ToastProvider } from "./kit/Toast";
import { place } from "./server/place";
import { routerOf } from "./routes";

// The client repeats what may be repeated by itself, and what was refused is not asked again by whoever shows it next. What was read stays for a while: going back shows it at once.
const queries = new QueryClient({ defaultOptions: { queries: { retry: false, retryOnMount: false, staleTime: 5_000, gcTime: 600_000 } } });

document.documentElement.classList.toggle("adm", place.surface === "admin");

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <ToastProvider>
          <RouterProvider router={routerOf(place.surface)} />
        </ToastProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}
