import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Avatar } from "../kit/Avatar";
import { Button } from "../kit/Button";
import { Combobox } from "../kit/Combobox";
import { Dialog } from "../kit/Dialog";
import { Empty } from "../kit/Empty";
import { Icon } from "../kit/Icon";
import { Menu } from "../kit/Menu";
import { Refusal, Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import type { ItemOf } from "../server/path";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { usePath } from "../shell/where";
import type { Project } from "./project";

type Team = ItemOf<"/api/workspaces/{username}/{business}/teams">;

const roles = [
  { role: "viewer", may: "Reads files" },
  { role: "builder", may: "Reads and writes files" },
  { role: "admin", may: "Reads and writes files, and counts as an admin here" },
] as const;

/** AccessTab is who may work on a project beyond what their role in the workspace gives: teams, and what each may. */
export function AccessTab({ project }: { project: Project }): ReactNode {
  const teams = useList("/api/workspaces/{username}/{business}/teams", { every: 15_000 });
  const { why } = useMay("manage");
  const to = usePath();
  const [adding, setAdding] = useState(false);
  if (!teams.items) {
    return teams.error ? <Refusal error={teams.error} onRetry={teams.retry} /> : <div className="body repo wait" role="status" aria-label="Loading who has access" />;
  }
  const inside = teams.items.filter((team) => roleIn(team, project.slug));
  const others = teams.items.filter((team) => !roleIn(team, project.slug));
  return (
    <div className="body repo">
      <div>
        {teams.error && <Trouble error={teams.error} stale onRetry={teams.retry} />}
        <section className="card" aria-labelledby="teams">
          <header className="spaced">
            <h2 id="teams">Teams</h2>
            <Button small icon="plus" why={why ?? (others.length === 0 ? (teams.items.length === 0 ? "There is no team yet" : "Every team is here") : undefined)} onClick={() => setAdding(true)}>Add a team</Button>
          </header>
          {inside.length === 0 ? (
            <Empty icon="team" title="No team has a role here" act={<Link className="btn" to={to("team")}>Go to Team</Link>}>
              Everybody has the role here that they have in the workspace. A team can be given more in this project.
            </Empty>
          ) : (
            <ul className="access">
              {inside.map((team) => (
                <TeamLine key={team.id} team={team} slug={project.slug} why={why} />
              ))}
            </ul>
          )}
        </section>
        <p className="help">Owners, admins and builders of the workspace write in every project; viewers read. The greater role counts.</p>
      </div>
      {adding && <AddTeam slug={project.slug} teams={others} onClose={() => setAdding(false)} />}
    </div>
  );
}

function roleIn(team: Team, slug: string): string | undefined {
  return team.projects.find((project) => project.slug === slug)?.role;
}

function TeamLine({ team, slug, why }: { team: Team; slug: string; why: string | undefined }): ReactNode {
  const give = useAct("put", "/api/workspaces/{username}/{business}/teams/{team}/projects/{slug}");
  const take = useAct("delete", "/api/workspaces/{username}/{business}/teams/{team}/projects/{slug}");
  const toast = useToast();
  const role = roleIn(team, slug) ?? "";
  const change = (next: string): void => void give.run({ path: { team: team.id, slug }, body: { role: next } });
  const remove = async (): Promise<void> => {
    const done = await take.run({ path: { team: team.id, slug } });
    if (done) toast({ tone: "ok", text: `${team.name} has no role here any more.`, undo: () => change(role) });
  };
  const error = give.error ?? take.error;
  return (
    <li>
      <span className="project-glyph"><Icon name="team" /></span>
      <span className="grow">
        <b>{team.name}</b>
        <small className="faint trunc">{team.members.length === 0 ? "Nobody is in it" : team.members.map((member) => member.displayName || member.username).join(", ")}</small>
      </span>
      <span className="faces desk">{team.members.slice(0, 4).map((member) => <Avatar key={member.account} name={member.displayName || member.username} />)}</span>
      <Menu
        label={`Role of ${team.name}`}
        className="select"
        title={why ?? ""}
        button={<><span className="sr">Role of {team.name}: </span>{role} <Icon name="updown" small /></>}
        groups={[{ items: roles.map((each) => ({ label: each.role, note: each.may, ticked: each.role === role, why, onSelect: () => change(each.role) })) }]}
      />
      <Button look="ghost" icon="x" label={`Take ${team.name} out`} busy={take.busy} why={why} onClick={() => void remove()} />
      {error && <Trouble error={error} />}
    </li>
  );
}

function AddTeam({ slug, teams, onClose }: { slug: string; teams: readonly Team[]; onClose: () => void }): ReactNode {
  const give = useAct("put", "/api/workspaces/{username}/{business}/teams/{team}/projects/{slug}");
  const [team, setTeam] = useState(teams[0]?.id ?? "");
  const [role, setRole] = useState("builder");
  const send = async (): Promise<void> => {
    if (await give.run({ path: { team, slug }, body: { role } })) onClose();
  };
  return (
    <Dialog
      title="Add a team"
      onClose={onClose}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={give.busy}>Add</Button>
        </>
      }
    >
      <div className="form">
        {give.error && <Trouble error={give.error} />}
        <Combobox label="Team" choices={teams.map((each) => ({ value: each.id, label: each.name, note: `${each.members.length} ${each.members.length === 1 ? "person" : "people"}` }))} value={team} onChange={setTeam} />
        <Combobox label="Role in this project" choices={roles.map((each) => ({ value: each.role, label: each.role, note: each.may }))} value={role} onChange={setRole} />
      </div>
    </Dialog>
  );
}
