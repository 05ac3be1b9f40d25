import type { ReactNode } from "react";
import { Navigate } from "@tanstack/react-router";
import { usePages } from "./Sidebar";
import { usePath } from "./where";

/** First leads from a workspace's own address to the first page that the person may see: the chat, for most. */
export function First(): ReactNode {
  const first = usePages().find((page) => page.nav);
  const path = usePath();
  return first ? <Navigate to={path(first.path)} replace /> : <main aria-busy="true" />;
}
