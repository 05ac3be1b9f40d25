import type { ReactNode } from "react";
import { Link, Navigate } from "@tanstack/react-router";
import "../look/settings.css";
import { Page } from "../shell/Page";
import { usePages } from "../shell/Sidebar";
import { usePage, usePath } from "../shell/where";

/** Settings is the frame of the pages that are set up once: their tabs are addresses, and only those that one may see. */
export function Settings({ thing, acts, children }: { thing: string; acts?: ReactNode; children: ReactNode }): ReactNode {
  const path = usePath();
  const here = usePage();
  return (
    <Page title="Settings" thing={thing} acts={acts}>
      <nav className="tabs" aria-label="Settings">
        {useTabs().map((tab) => (
          <Link key={tab.path} to={path(tab.path)} aria-current={here === tab.path ? "page" : undefined}>
            {tab.title}
          </Link>
        ))}
      </nav>
      {children}
    </Page>
  );
}

/** SettingsPage leads to the first tab that one may see. */
export function SettingsPage(): ReactNode {
  const path = usePath();
  const first = useTabs()[0];
  return first ? <Navigate to={path(first.path)} replace /> : <Page title="Settings">{null}</Page>;
}

function useTabs() {
  return usePages().filter((page) => page.path.startsWith("settings/") && !page.nav);
}
