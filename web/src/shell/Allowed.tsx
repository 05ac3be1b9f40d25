import type { ReactNode } from "react";
import { Empty } from "../kit/Empty";
import { place } from "../server/place";
import { useRead } from "../server/read";
import { allows, reasonFor, useHere, type Right } from "../server/role";
import { nameOf } from "../server/session";
import { Page } from "./Page";

/** Allowed shows a page of a workspace to whoever may see it. Others are told what they lack, and who can help them. */
export function Allowed({ title, right, children }: { title: string; right: Right; children: ReactNode }): ReactNode {
  const { facts } = useHere();
  if (right === "enter" || (facts && allows(facts.role, right))) return children;
  // Nobody knows yet: what would be refused is not asked for.
  if (!facts) return <main id="main" aria-busy="true" />;
  return (
    <Page title={title}>
      <div className="list-area">
        <Empty icon="lock" title={reasonFor(right)}>
          <Helpers role={facts.role} right={right} />
        </Empty>
      </div>
    </Page>
  );
}

/** So many are named: more would be a list to read. */
const most = 3;

function Helpers({ role, right }: { role: string; right: Right }): ReactNode {
  const known = place.surface !== "platform" && allows(role, "read");
  const people = useRead("/api/workspaces/{username}/{business}/people", { query: { limit: 200 }, when: known }).data?.items ?? [];
  const names = people.filter((person) => allows(person.role, right, "agents")).map(nameOf).slice(0, most);
  if (names.length === 0) return "Somebody with that role can do this, or give it to you.";
  return `${names.join(" or ")} can do this, or give you the role.`;
}
