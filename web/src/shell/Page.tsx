import { useEffect, useRef, type ReactNode } from "react";
import { Link, useLocation } from "@tanstack/react-router";
import { Icon } from "../kit/Icon";
import { place } from "../server/place";
import { useHere } from "../server/role";
import { namesOf, useWorkspace } from "../server/workspace";
import { CustomerSwitcher } from "./CustomerSwitcher";
import { MenuButton } from "./drawer";

export interface PageProps {
  /** The heading, and the title of the tab. */
  title: string;
  /** The heading, where it is the name of a thing below the page. */
  heading?: string | undefined;
  /** The page that this one is below: a way back stands before the heading. */
  above?: Above | undefined;
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

/** Above is a page that another is below. On a phone, where less is seen at once, it may be a nearer one. */
export interface Above {
  readonly title: string;
  readonly to: string;
  readonly near?: { readonly title: string; readonly to: string } | undefined;
}

/** Page is what every page is: a heading that takes the focus when one arrives, its acts, and its content. */
export function Page({ title, heading: name = title, above, thing, state, beside, acts, children }: PageProps): ReactNode {
  useTitle(title, thing, state);
  const heading = useArrival();
  return (
    <main id="main" tabIndex={-1}>
      <header className="top">
        {above ? <WayBack {...above} /> : <MenuButton />}
        <h1 ref={heading} tabIndex={-1} className="trunc">
          {name}
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

/** WayBack leads one level up: a crumb, and on a phone a button in the place of the menu's. */
function WayBack({ title, to, near = { title, to } }: Above): ReactNode {
  return (
    <>
      <Link className="btn ghost icon mobile" to={near.to} aria-label={`Back to ${near.title}`}>
        <Icon name="left" />
      </Link>
      <Link className="crumb desk" to={to}>
        {title}
      </Link>
      <span className="crumb desk" aria-hidden="true">/</span>
    </>
  );
}

/** useTitle names the tab: thing, page, workspace; Admin last. */
export function useTitle(title: string, thing?: string, state?: "running" | "failed"): void {
  const { facts } = useHere();
  const workspace = useWorkspace();
  const where = facts?.name ?? namesOf(workspace).split("/").at(-1);
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
