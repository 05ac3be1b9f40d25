import { useState, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Empty } from "../kit/Empty";
import { Trouble } from "../kit/Refusal";
import { exact } from "../kit/Time";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { place } from "../server/place";
import { useMay, type WorkspaceFacts } from "../server/role";
import { useSession } from "../server/session";
import { useWorkspace } from "../server/workspace";

const path = "/api/workspaces/{username}/{business}";

/** Ending is the ways to put a workspace away, leave it or end it, each with what follows from it. */
export function Ending({ facts, onDeleted }: { facts: WorkspaceFacts; onDeleted: (erasedAt: string) => void }): ReactNode {
  return (
    <section className="card danger" aria-labelledby="ending">
      <header><h2 id="ending">Put away, leave, end</h2></header>
      <div className="inside">
        <Archive facts={facts} />
        <Leave facts={facts} />
        <Delete facts={facts} onDeleted={onDeleted} />
      </div>
    </section>
  );
}

/** personal is why the workspace of an account stays: it lives as long as the account. */
const personal = "This is the workspace of an account, and lives as long as that.";

function Archive({ facts }: { facts: WorkspaceFacts }): ReactNode {
  const { why } = useMay("own");
  const archive = useAct("post", `${path}/archive`, { refreshes: [path] });
  const unarchive = useAct("post", `${path}/unarchive`, { refreshes: [path] });
  const toast = useToast();
  const act = facts.archived ? unarchive : archive;
  const not = why ?? (facts.business === "personal" ? personal : undefined);
  const run = async (): Promise<void> => {
    if (await act.run()) toast({ tone: "ok", text: facts.archived ? "The workspace is back in use." : "The workspace is archived." });
  };
  return (
    <>
      {act.error && <Trouble error={act.error} />}
      <div className="act">
        <p>
          <b>{facts.archived ? "Take it out of the archive" : "Archive"}</b>
          {not ?? (facts.archived ? "It comes back to the lists of its people." : "It leaves the lists of its people. Everything stays, and who has it open goes on.")}
        </p>
        <Button busy={act.busy} why={not} onClick={() => void run()}>{facts.archived ? "Unarchive" : "Archive"}</Button>
      </div>
    </>
  );
}

function Leave({ facts }: { facts: WorkspaceFacts }): ReactNode {
  const [asking, setAsking] = useState(false);
  const account = useSession().data?.account;
  const workspace = useWorkspace();
  const leave = useAct("delete", `${path}/people/{account}`);
  const run = async (): Promise<void> => {
    if (account && (await leave.run({ path: { account: account.id } }))) location.assign(`${place.platform}/workspaces`);
  };
  const why = place.surface === "admin" ? "Staff are no members here." : account?.username === workspace?.username ? "It carries your name in its address, so you always stay an owner." : undefined;
  return (
    <div className="act">
      <p>
        <b>Leave</b>
        {why ?? "You lose sight of it at once, and the keys that you made stop working."}
      </p>
      <Button look="danger" why={why} onClick={() => setAsking(true)}>Leave</Button>
      {asking && (
        <ConfirmByName act="Leave workspace" name={facts.business} busy={leave.busy} error={leave.error} onClose={() => setAsking(false)} onConfirm={() => void run()}>
          You lose sight of {facts.name} at once. Only an invitation brings you back.
        </ConfirmByName>
      )}
    </div>
  );
}

function Delete({ facts, onDeleted }: { facts: WorkspaceFacts; onDeleted: (erasedAt: string) => void }): ReactNode {
  const [asking, setAsking] = useState(false);
  const { why } = useMay("own");
  const drop = useAct("delete", path);
  const not = why ?? (facts.business === "personal" ? personal : undefined);
  const run = async (): Promise<void> => {
    const done = await drop.run({ query: { confirm: facts.business } });
    if (done) onDeleted(done.answer.eraseAt);
  };
  return (
    <div className="act">
      <p>
        <b>Delete</b>
        {not ?? "Nobody reaches it from then on. For 14 days an owner can bring it back; then everything in it is erased for good."}
      </p>
      <Button look="danger" why={not} onClick={() => setAsking(true)}>Delete</Button>
      {asking && (
        <ConfirmByName act="Delete workspace" name={facts.business} busy={drop.busy} error={drop.error} onClose={() => setAsking(false)} onConfirm={() => void run()}>
          Agents, conversations, runs, files, secrets and keys of {facts.name} are out of reach at once, for all of its people.
        </ConfirmByName>
      )}
    </div>
  );
}

/** Deleted is what is left of a workspace on this page: until when it can be brought back, and the way to do so. */
export function Deleted({ name, erasedAt, onRestored }: { name: string; erasedAt: string; onRestored: () => void }): ReactNode {
  const restore = useAct("post", `${path}/restore`, { refreshes: [path] });
  const toast = useToast();
  const navigate = useNavigate();
  const run = async (): Promise<void> => {
    if (!(await restore.run())) return;
    toast({ tone: "ok", text: `${name} is back.` });
    onRestored();
    void navigate({ to: "." });
  };
  return (
    <section className="card danger" role="status">
      {restore.error && <Trouble error={restore.error} />}
      <Empty
        icon="trash"
        title={`${name} is deleted`}
        act={
          <>
            <Button look="primary" busy={restore.busy} onClick={() => void run()}>Bring it back</Button>
            <a className="btn" href={`${place.platform}/workspaces`}>All workspaces</a>
          </>
        }
      >
        Everything in it is erased on {exact(new Date(erasedAt))}. Until then an owner can bring it back.
      </Empty>
    </section>
  );
}
