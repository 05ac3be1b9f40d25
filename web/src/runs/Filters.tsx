import { useState, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Icon } from "../kit/Icon";
import { Menu } from "../kit/Menu";
import { Segments } from "../kit/Tabs";
import { useRead } from "../server/read";
import { useWorkspace } from "../server/workspace";
import { usePath } from "../shell/where";
import { isRunId, type Range } from "./run";
import type { Asked } from "./RunsPage";
import type { Filter, Runs } from "./useRuns";

const spans: Record<Range, string> = { hour: "Last hour", day: "Last day", week: "Last week" };

/** Filters narrow the list, and find one run by its id. */
export function Filters({ filter, active, onChange }: { filter: Filter; active: Runs["active"]; onChange: (asked: Asked) => void }): ReactNode {
  const status = filter.status ?? "all";
  const running = active && active.count > 0 ? { count: active.count } : {};
  return (
    <div className="tlbar filters" role="search">
      <Segments
        label="Status"
        value={status}
        onChange={(id) => onChange({ status: id === "all" ? undefined : (id as Filter["status"]) })}
        tabs={[{ id: "active", label: "Running", ...running }, { id: "errored", label: "Failed" }, { id: "completed", label: "Completed" }, { id: "all", label: "All" }]}
      />
      <WorkflowMenu chosen={filter.workflow} onChoose={(workflow) => onChange({ workflow })} />
      <Menu
        label="Range"
        className="btn ghost"
        button={<>{filter.range ? spans[filter.range] : "Any time"} <Icon name="down" small /></>}
        groups={[{ items: [{ label: "Any time", ticked: !filter.range, onSelect: () => onChange({ range: undefined }) }, ...(Object.keys(spans) as Range[]).map((range) => ({ label: spans[range], ticked: filter.range === range, onSelect: () => onChange({ range }) }))] }]}
      />
      <span className="grow" />
      <FindRun />
    </div>
  );
}

/** WorkflowMenu chooses one workflow. The list of all workspaces cannot be narrowed so. */
function WorkflowMenu({ chosen, onChoose }: { chosen: string | undefined; onChoose: (name: string | undefined) => void }): ReactNode {
  const workspace = useWorkspace();
  const workflows = useRead("/api/workspaces/{username}/{business}/workflows", { query: { limit: 200 } as never, when: workspace !== undefined });
  if (!workspace) return null;
  const names = [...new Set([...(workflows.data?.items ?? []).filter((each) => each.exposed).map((each) => each.name), ...(chosen ? [chosen] : [])])];
  return (
    <Menu
      label="Workflow"
      className="btn ghost"
      button={<><span className="trunc">{chosen ?? "Every workflow"}</span> <Icon name="down" small /></>}
      groups={[{ items: [{ label: "Every workflow", ticked: !chosen, onSelect: () => onChoose(undefined) }, ...names.map((name) => ({ label: name, ticked: name === chosen, onSelect: () => onChoose(name) }))] }]}
    />
  );
}

/** FindRun opens the run whose id is pasted. */
function FindRun(): ReactNode {
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState(false);
  const navigate = useNavigate();
  const path = usePath();
  const workspace = useWorkspace();
  if (!workspace) return null;
  return (
    <form
      className="find-in desk"
      onSubmit={(event) => {
        event.preventDefault();
        if (isRunId(typed)) void navigate({ to: path(`runs/${typed.trim()}`) });
        else setWrong(typed.trim() !== "");
      }}
    >
      <Icon name="search" small />
      <input
        className={`input sm ${wrong ? "invalid" : ""}`}
        data-filter
        aria-label="Find by run id"
        aria-invalid={wrong || undefined}
        title={wrong ? "An id begins with run_ and is 30 characters long." : undefined}
        placeholder="Run id"
        spellCheck={false}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setWrong(false);
        }}
      />
    </form>
  );
}
