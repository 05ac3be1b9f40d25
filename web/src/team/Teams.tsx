import { useState, type ReactNode } from "react";
import { Avatar } from "../kit/Avatar";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Field } from "../kit/Field";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { useAct } from "../server/act";
import type { Listing } from "../server/read";
import { useMay } from "../server/role";
import { fieldErrors } from "../server/refusal";
import { nameOf } from "../server/session";
import type { Team } from "./role";
import { TeamSheet } from "./TeamSheet";

/** So many faces stand in a row; the rest is a number. */
const faces = 5;

/** Teams are groups of people, each with roles on some projects. */
export function Teams({ list }: { list: Listing<Team> }): ReactNode {
  const { why } = useMay("manage");
  const [making, setMaking] = useState(false);
  const [openId, setOpenId] = useState<string>();
  const open = list.items?.find((team) => team.id === openId);
  return (
    <section>
      <h3>
        Teams <Button small icon="plus" why={why} onClick={() => setMaking(true)}>New team</Button>
      </h3>
      {list.error && <Trouble error={list.error} stale={list.items !== undefined} onRetry={list.retry} />}
      {list.items?.length === 0 && <p className="help">A team gives its people a role on some projects, beside the one that each has here.</p>}
      {list.items?.map((team) => (
        <div className="teamrow" key={team.id}>
          <div className="row">
            <b className="w55 grow trunc">{team.name}</b>
            <span className="faces" aria-label={`${team.members.length} people`} role="img">
              {team.members.slice(0, faces).map((member) => (
                <Avatar key={member.account} name={nameOf(member)} />
              ))}
              {team.members.length > faces && <span className="faint t12">+{team.members.length - faces}</span>}
            </span>
            <Button small look="ghost" icon="rightc" label={`Open ${team.name}`} onClick={() => setOpenId(team.id)} />
          </div>
          <div className="row tags">
            {team.projects.map((project) => (
              <span className="tag" key={project.slug}><Icon name="folder" />{project.slug} · {project.role}</span>
            ))}
            {team.projects.length === 0 && <span className="faint t12">no project yet</span>}
          </div>
        </div>
      ))}
      {making && <NewTeam onClose={() => setMaking(false)} onMade={setOpenId} />}
      {open && <TeamSheet key={open.id} team={open} onClose={() => setOpenId(undefined)} />}
    </section>
  );
}

function NewTeam({ onClose, onMade }: { onClose: () => void; onMade: (id: string) => void }): ReactNode {
  const [name, setName] = useState("");
  const make = useAct("post", "/api/workspaces/{username}/{business}/teams");
  const why = name.trim() ? undefined : "Give it a name first";
  const send = async (): Promise<void> => {
    const done = why ? undefined : await make.run({ body: { name: name.trim() } });
    if (!done) return;
    onClose();
    onMade(done.answer.id);
  };
  const field = fieldErrors(make.error)["name"] ?? (make.error?.type === "name_taken" ? "There is a team of this name." : undefined);
  return (
    <Dialog
      title="New team"
      onClose={onClose}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={make.busy} why={why}>Make team</Button>
        </>
      }
    >
      {make.error && !field && <Trouble error={make.error} />}
      <Field label="Name" value={name} onChange={(event) => setName(event.target.value)} error={field} maxLength={80} autoFocus autoComplete="off" placeholder="Ops" />
    </Dialog>
  );
}
