import { useEffect, useRef, type ReactNode } from "react";
import { Link, useLocation } from "@tanstack/react-router";
import { Icon } from "../kit/Icon";
import { place } from "../server/place";
import { allows, useHere } from "../server/role";
import { useStaff } from "../server/staff";
import { useWorkspace } from "../server/workspace";
import { pagesOn, servicePages, type PageRow } from "../routes";
import { AccountMenu } from "./AccountMenu";
import { useDrawer } from "./drawer";
import { openPalette } from "./palette";
import { usePage, usePath } from "./where";
import { WorkspaceSwitcher } from "./WorkspaceSwitcher";

/** usePages are the pages that the person may see here. */
export function usePages(): readonly PageRow[] {
  const workspace = useWorkspace();
  const { facts } = useHere();
  const staff = useStaff();
  if (!workspace) return servicePages.filter((page) => !page.right || allows(staff.role, page.right));
  return pagesOn(place.surface, workspace).filter((page) => facts && allows(facts.role, page.right ?? "read"));
}

/** Sidebar is where one can go, and as whom. On a phone it is a drawer. */
export function Sidebar(): ReactNode {
  const { open, setOpen } = useDrawer();
  const side = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  useEffect(() => setOpen(false), [pathname, setOpen]);
  useEffect(() => {
    if (!open) return;
    side.current?.querySelector<HTMLElement>("button, a")?.focus();
    const escape = (event: KeyboardEvent): void => {
      if (event.key === "Escape") setOpen(false);
    };
    addEventListener("keydown", escape);
    return () => removeEventListener("keydown", escape);
  }, [open, setOpen]);
  return (
    <>
      {open && <button type="button" className="shade" aria-label="Close the menu" onClick={() => setOpen(false)} />}
      <nav ref={side} className={open ? "side open" : "side"} aria-label="Pages">
        <WorkspaceSwitcher />
        <button type="button" className="find" onClick={openPalette} aria-keyshortcuts="Control+K Meta+K">
          <Icon name="search" small />
          <span className="grow">Jump to…</span>
          <kbd>{isApple() ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        <Navigation />
        <footer>
          <AccountMenu />
        </footer>
      </nav>
    </>
  );
}

function Navigation(): ReactNode {
  const pages = usePages().filter((page) => page.nav);
  const path = usePath();
  const here = usePage();
  const groups = [...new Set(pages.map((page) => page.nav?.group ?? ""))];
  return (
    <div className="nav">
      {groups.map((group) => (
        <div key={group}>
          {group && <h2>{group}</h2>}
          {pages
            .filter((page) => page.nav?.group === group)
            .map((page) => (
              <Link
                key={page.path}
                to={path(page.path)}
                aria-current={isAt(here, page.path) ? "page" : undefined}
                // The code of the page is on its way before it is clicked.
                onPointerEnter={() => void page.load().catch(() => {})}
              >
                {page.nav && <Icon name={page.nav.icon} />}
                {page.title}
              </Link>
            ))}
        </div>
      ))}
    </div>
  );
}

/** isAt reports whether an address is that of a page, or of something below it. */
export function isAt(here: string, page: string): boolean {
  return here === page || here.startsWith(`${page}/`);
}

export function isApple(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.platform);
}
