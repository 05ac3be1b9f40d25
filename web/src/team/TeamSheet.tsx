import { useEffect, useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Sheet } from "../kit/Dialog";
import { Field } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { Checkbox } from "../kit/Switch";
import { useAct } from "../server/act";
import { useRead } from "../server/read";
import { fieldErrors } from "../server/refusal";
import { useMay } from "../server/role";
import { nameOf } from "../server/session";
import { roleName, teamRoles, type Team } from "./role";

const path = "/api/workspaces/{username}/{business}/teams/{team}";
const people = "/api/workspaces/{username}/{business}/people";

/** TeamSheet is one team: who is in it, and what it gives them on which projects. Each change counts at once. */
export function TeamSheet({ team, onClose }: { team: Team; onClose: () => void }): ReactNode {
  const { why } = useMay("manage");
  return (
    <Sheet title={team.name} onClose={onClose}>
      <Name team={team} why={why} />
      <Members team={team} why={why} />
      <Projects team={team} why={why} />
      <End team={team} why={why} onClose={onClose} />
    </Sheet>
  );
}

interface PartOf {
  team: Team;
  why: string | undefined;
}

function Name({ team, why }: PartOf): ReactNode {
  const [name, setName] = useState(team.name);
  const rename = useAct("patch", path, { refreshes: [people] });
  const unchanged = name.trim() === team.name ? "The name is as it was" : name.trim() ? undefined : "Write a name first";
  const field = fieldErrors(rename.error)["name"] ?? (rename.error?.type === "name_taken" ? "There is a team of this name." : undefined);
  return (
    <section>
      {rename.error && !field && <Trouble error={rename.error} />}
      <form
        className="row name-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!why && !unchanged) void rename.run({ path: { team: team.id }, body: { name: name.trim() }, version: team.version });
        }}
      >
        <div className="grow"><Field label="Name" value={name} onChange={(event) => setName(event.target.value)} error={field} maxLength={80} disabled={why !== undefined} autoComplete="off" /></div>
        <Button type="submit" busy={rename.busy} why={why ?? unchanged}>Rename</Button>
      </form>
    </section>
  );
}

/** useMeant is what was chosen and is not known to be so yet: a choice shows at once, and goes back where it is refused. */
function useMeant<Choice>(team: Team): { of: (id: string, known: Choice) => Choice; mean: (id: string, choice: Choice, act: Promise<unknown>) => void } {
  const [meant, setMeant] = useState<ReadonlyMap<string, Choice>>(new Map());
  useEffect(() => setMeant(new Map()), [team.version]);
  const mean = (id: string, choice: Choice, act: Promise<unknown>): void => {
    setMeant((before) => new Map(before).set(id, choice));
    void act.then((done) => done || setMeant(new Map()));
  };
  return { of: (id, known) => meant.get(id) ?? known, mean };
}

function Members({ team, why }: PartOf): ReactNode {
  const all = useRead(people, { query: { limit: 200 } }).data?.items;
  const join = useAct("put", `${path}/members/{account}`, { refreshes: [people] });
  const leave = useAct("delete", `${path}/members/{account}`, { refreshes: [people] });
  const within = new Set(team.members.map((member) => member.account));
  const meant = useMeant<boolean>(team);
  const error = join.error ?? leave.error;
  const choose = (account: string, on: boolean): void => meant.mean(account, on, (on ? join : leave).run({ path: { team: team.id, account } }));
  return (
    <section>
      <h3>People <span className="faint w4 t12 num">{team.members.length}</span></h3>
      {error && <Trouble error={error} />}
      <div className="team-opts" role="group" aria-label="People of the team">
        {all?.map((person) => (
          <Checkbox key={person.account} label={nameOf(person)} on={meant.of(person.account, within.has(person.account))} why={why} onChange={(on) => choose(person.account, on)}>
            <span className="faint t12">{person.role}</span>
          </Checkbox>
        ))}
      </div>
    </section>
  );
}

function Projects({ team, why }: PartOf): ReactNode {
  const all = useRead("/api/workspaces/{username}/{business}/projects", { query: { limit: 200 } }).data?.items;
  const give = useAct("put", `${path}/projects/{slug}`);
  const take = useAct("delete", `${path}/projects/{slug}`);
  const given = new Map(team.projects.map((project) => [project.slug, project.role]));
  const meant = useMeant<string>(team);
  const error = give.error ?? take.error;
  const choose = (slug: string, role: string): void => {
    const at = { team: team.id, slug };
    meant.mean(slug, role, role ? give.run({ path: at, body: { role } }) : take.run({ path: at }));
  };
  return (
    <section>
      <h3>Projects <span className="faint w4 t12 num">{team.projects.length}</span></h3>
      {error && <Trouble error={error} />}
      {all?.length === 0 && <p className="help">There is no project yet.</p>}
      <div className="team-opts">
        {all?.map((project) => (
          <label key={project.slug} title={why}>
            <span className="grow trunc">{project.slug}</span>
            <select className="select" value={meant.of(project.slug, given.get(project.slug) ?? "")} disabled={why !== undefined} onChange={(event) => choose(project.slug, event.target.value)}>
              <option value="">no role</option>
              {teamRoles.map((role) => (
                <option key={role} value={role}>{roleName(role)}</option>
              ))}
            </select>
          </label>
        ))}
      </div>
    </section>
  );
}

function End({ team, why, onClose }: PartOf & { onClose: () => void }): ReactNode {
  const [asking, setAsking] = useState(false);
  const drop = useAct("delete", path, { refreshes: [people] });
  const run = async (): Promise<void> => {
    if (await drop.run({ path: { team: team.id }, version: team.version })) onClose();
  };
  return (
    <section>
      <Button look="danger" why={why} onClick={() => setAsking(true)}>Delete team</Button>
      {asking && (
        <ConfirmByName act="Delete team" name={team.name} busy={drop.busy} error={drop.error} onClose={() => setAsking(false)} onConfirm={() => void run()}>
          Its people keep their own roles, and lose what the team gave them on its projects.
        </ConfirmByName>
      )}
    </section>
  );
}
