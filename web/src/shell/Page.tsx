import { useEffect, useRef, type ReactNode } from "react";
import { useLocation } from "@tanstack/react-router";
import { place } from "../server/place";
import { useHere } from "../server/role";
import { useWorkspace } from "../server/workspace";
import { CustomerSwitcher } from "./CustomerSwitcher";
import { MenuButton } from "./drawer";

export interface PageProps {
  /** The heading, and the title of the tab. */
  title: string;
  /** What stands before the heading: the way back to the list. */
  lead?: ReactNode;
  /** The page's name in the tab, where the heading is that of a thing. */
  tab?: string | undefined;
  /** The thing that the page shows, before its name in the tab: a run, an agent. */
  thing?: string | undefined;
  /** Running and failed things say so in the tab. */
  state?: "running" | "failed" | undefined;
  /** What stands behind the heading: a count, a tag. */
  beside?: ReactNode;
  /** What can be done on this page, the one act last. */
  acts?: ReactNode;
  children: ReactNode;
}

/** Page is what every page is: a heading that takes the focus when one arrives, its acts, and its content. */
export function Page({ title, lead, tab, thing, state, beside, acts, children }: PageProps): ReactNode {
  useTitle(tab ?? title, thing, state);
  const heading = useArrival();
  return (
    <main id="main" tabIndex={-1}>
      <header className="top">
        <MenuButton />
        {lead}
        <h1 ref={heading} tabIndex={-1} className="trunc">
          {title}
        </h1>
        {beside}
        <span className="grow" />
        {place.surface === "admin" && <CustomerSwitcher />}
        {acts}
      </header>
      {children}
    </main>
  );
}

/** useTitle names the tab: thing, page, workspace; Admin last. */
export function useTitle(title: string, thing?: string, state?: "running" | "failed"): void {
  const { facts } = useHere();
  const workspace = useWorkspace();
  const where = facts?.name ?? workspace?.business;
  useEffect(() => {
    document.title = titleOf({ title, thing, state, where, admin: place.surface === "admin" });
  }, [title, thing, state, where]);
}

export function titleOf(of: { title: string; thing?: string | undefined; state?: "running" | "failed" | undefined; where?: string | undefined; admin: boolean }): string {
  const mark = of.state === "running" ? "● " : of.state === "failed" ? "! " : "";
  return mark + [of.thing, of.title, of.where, of.admin ? "Admin" : of.where ? undefined : "svc"].filter(Boolean).join(" · ");
}

/** The page that was shown before; undefined: this is the first, whose focus the browser has set. */
let shownBefore: string | undefined;

/** useArrival focuses the heading when the address leads to another page, so that a screen reader begins there. */
export function useArrival(): React.RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname } = useLocation();
  useEffect(() => {
    if (shownBefore !== undefined && shownBefore !== pathname && !heading.current?.closest("main")?.contains(document.activeElement)) heading.current?.focus();
    shownBefore = pathname;
  }, [pathname]);
  return heading;
}
