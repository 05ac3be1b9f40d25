import type { ReactNode } from "react";
import "../look/agents.css";
import "../look/chat.css";
import { CustomerSwitcher } from "../shell/CustomerSwitcher";
import { useTitle } from "../shell/Page";
import { MenuButton } from "../shell/drawer";
import { place } from "../server/place";
import { AgentColumn } from "./AgentColumn";
import { AgentList } from "./AgentList";
import { NewAgent } from "./NewAgent";
import { NoAgent } from "./NoAgent";
import { usePlaceOfAgent, type AgentPlace } from "./place";

/** AgentsPage is the agents of a workspace: all of them, the one that is written, and a chat that tries it. */
export function AgentsPage(): ReactNode {
  const at = usePlaceOfAgent();
  useTitle("Agents", at.name ?? (at.making === undefined ? undefined : "New agent"));
  return (
    <main id="main" tabIndex={-1}>
      {place.surface === "admin" && (
        <header className="top">
          <MenuButton />
          <span className="grow" />
          <CustomerSwitcher />
        </header>
      )}
      <div className={`split trio ${shapeOf(at)}`}>
        <AgentList at={at} />
        {at.making !== undefined ? <NewAgent key={at.making} template={at.making} /> : at.name === undefined ? <NoAgent /> : <AgentColumn key={at.name} name={at.name} at={at} />}
      </div>
    </main>
  );
}

/** shapeOf says which columns there are, and which of them a narrow window shows. */
function shapeOf(at: AgentPlace): string {
  if (at.making !== undefined) return "alone";
  if (at.name === undefined) return "alone listing";
  if (at.part === "try") return "trying";
  return at.part === "versions" ? "alone" : "";
}
