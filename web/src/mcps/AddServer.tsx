import { useState, type ReactNode } from "react";
import { SvcError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Field } from "../kit/Field";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { Segments } from "../kit/Tabs";
import { useAct, type Act } from "../server/act";
import { fieldErrors } from "../server/refusal";
import { isStaffs, useWorkspace } from "../server/workspace";
import { argsIn, envIn, type Program } from "./program";
import { ProgramFields } from "./ProgramFields";
import { hostOf, nameFor, type ServerDetail } from "./server";
import { ServerFields, type Address } from "./ServerFields";

export interface AddServerProps {
  taken: readonly string[];
  onAdded: (id: string) => void;
  onClose: () => void;
}

/** AddServer asks where a server is, connects it, and shows what it offers. It stays only when the person says so then. */
export function AddServer({ taken, onAdded, onClose }: AddServerProps): ReactNode {
  const [address, setAddress] = useState<Address>({ url: "", auth: "none", token: "" });
  const [program, setProgram] = useState<Program>({ command: "", args: "", env: "" });
  const [way, setWay] = useState<Way>("address");
  const [named, setNamed] = useState<string>();
  const [made, setMade] = useState<ServerDetail>();
  const [failed, setFailed] = useState<SvcError>();
  const create = useAct("post", "/api/workspaces/{username}/{business}/mcps");
  const connect = useAct("post", "/api/workspaces/{username}/{business}/mcps/{mcp}/connect");
  const remove = useAct("delete", "/api/workspaces/{username}/{business}/mcps/{mcp}");
  const staff = isStaffs(useWorkspace());
  const where = way === "address" ? address.url : program.command.trim();
  const name = named ?? nameFor(where, taken);
  const errors: Record<string, string> = { ...fieldErrors(create.error), ...(create.error?.type === "name_taken" ? { name: "This name is taken." } : {}) };
  const busy = create.busy || connect.busy || remove.busy;

  const attempt = async (): Promise<void> => {
    setFailed(undefined);
    const begun = await create.run({ body: way === "address" ? called(name, address) : started(name, program) });
    if (!begun) return;
    const mcp = begun.answer.id;
    const done = await connect.run({ path: { mcp } });
    if (done && (done.answer.status === "ok" || done.answer.signInUrl)) return setMade(done.answer);
    // What cannot be connected is not kept.
    await remove.run({ path: { mcp } });
    if (done) setFailed(new SvcError({ status: 409, type: "mcp_not_connected", message: done.answer.statusReason || "The server wants a credential." }));
  };
  const cancel = async (): Promise<void> => {
    if (made) await remove.run({ path: { mcp: made.id } });
    onClose();
  };
  if (made?.signInUrl) return <SignIn server={made} to={made.signInUrl} onCancel={() => void cancel()} />;
  if (made) return <ChooseTools server={made} onAdded={() => onAdded(made.id)} onCancel={() => void cancel()} />;
  const missing = where === "" ? (way === "address" ? "Write its address first." : "Write its command first.") : way === "program" && !envIn(program.env) ? "Write one variable a line." : undefined;
  const trouble = failed ?? (connect.error && forgotten(connect.error)) ?? (create.error && Object.keys(errors).length === 0 ? create.error : undefined);
  return (
    <Dialog
      title="Add an MCP server"
      onClose={onClose}
      onSubmit={() => !busy && !missing && void attempt()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={busy} why={missing}>Connect</Button>
        </>
      }
    >
      {trouble && <Trouble error={trouble} />}
      {staff && <div className="row"><Segments label="Where it is" tabs={ways} value={way} onChange={(id) => setWay(id as Way)} /></div>}
      {way === "address" ? (
        <ServerFields value={address} onChange={setAddress} errors={{ ...errors, ...(errors["url"] && create.error ? { url: create.error.message } : {}) }} />
      ) : (
        <ProgramFields value={program} onChange={setProgram} errors={errors} />
      )}
      <Field label="Name" value={name} maxLength={32} error={errors["name"]} help={<span>Agents call its tools <span className="mono">{name || "name"}__tool</span>. It is given once.</span>} autoComplete="off" spellCheck={false} onChange={(event) => setNamed(event.target.value)} />
    </Dialog>
  );
}

/** forgotten is why a server cannot be connected, without what the service says of one that it keeps. */
function forgotten({ status, type, message, requestId }: SvcError): SvcError {
  return new SvcError({ status, type, message, requestId });
}

/** Way is how a server is reached: it is called, or started. Programs are for the staff's own workspace. */
type Way = "address" | "program";

const ways = [
  { id: "address", label: "At an address" },
  { id: "program", label: "A program" },
] as const;

type Draft = Parameters<Act<"/api/workspaces/{username}/{business}/mcps", "post">["run"]>[0]["body"];

function called(name: string, { url, auth, token }: Address): Draft {
  return { name, url, auth, ...(auth === "bearer" && { token }) };
}

function started(name: string, { command, args, env }: Program): Draft {
  return { name, transport: "stdio", command: command.trim(), args: argsIn(args), env: envIn(env) ?? {} };
}

/** SignIn leads to where the person signs in. The server shows its tools once they are back. */
function SignIn({ server, to, onCancel }: { server: ServerDetail; to: string; onCancel: () => void }): ReactNode {
  const [leaving, setLeaving] = useState(false);
  const leave = (): void => {
    setLeaving(true);
    location.assign(to);
  };
  return (
    <Dialog
      title={`Sign in to ${server.name}`}
      onClose={onCancel}
      onSubmit={leave}
      footer={
        <>
          <Button onClick={onCancel}>Cancel</Button>
          <Button type="submit" look="primary" busy={leaving}>Go to the sign-in</Button>
        </>
      }
    >
      <p>The server is there, and wants to know who you are. You sign in at <b>{hostOf(to)}</b> and come back here.</p>
      <p className="help">Within 10 minutes, in this browser. All its tools are off until you switch them on.</p>
    </Dialog>
  );
}

/** ChooseTools is what the server offers. Nothing is on that nobody chose. */
function ChooseTools({ server, onAdded, onCancel }: { server: ServerDetail; onAdded: () => void; onCancel: () => void }): ReactNode {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const change = useAct("patch", "/api/workspaces/{username}/{business}/mcps/{mcp}/tools/{tool}", { refreshes: ["/api/workspaces/{username}/{business}/tools"] });
  const every = chosen.length === server.tools.length;
  const add = async (): Promise<void> => {
    for (const tool of chosen) {
      if (!(await change.run({ path: { mcp: server.id, tool }, body: { enabled: true } }))) return;
    }
    onAdded();
  };
  const tick = (name: string, on: boolean): void => setChosen(on ? [...chosen, name] : chosen.filter((each) => each !== name));
  return (
    <Dialog
      wide
      title={`${server.name} offers ${server.tools.length === 1 ? "1 tool" : `${server.tools.length} tools`}`}
      onClose={onCancel}
      onSubmit={() => !change.busy && void add()}
      footer={
        <>
          <Button onClick={onCancel}>Cancel</Button>
          <Button type="submit" look="primary" busy={change.busy}>{chosen.length === 0 ? "Add, all off" : chosen.length === 1 ? "Add with 1 tool on" : `Add with ${chosen.length} tools on`}</Button>
        </>
      }
    >
      {change.error && <Trouble error={change.error} />}
      <p className="row"><Icon name="check" small className="ok" /> <span className="grow">Connected. Choose what agents may use; you can change it later.</span></p>
      {server.tools.length > 1 && <Button small className="begin-at" onClick={() => setChosen(every ? [] : server.tools.map((tool) => tool.name))}>{every ? "Choose none" : "Choose all"}</Button>}
      <ul className="tool-choices" aria-label="Tools">
        {server.tools.map((tool) => (
          <li key={tool.name}>
            <label>
              <input type="checkbox" className="tick" checked={chosen.includes(tool.name)} onChange={(event) => tick(tool.name, event.target.checked)} />
              <span><span className="row tight"><span className="mono">{tool.name}</span>{tool.destructive && <Tag tone="bad">Destructive</Tag>}</span><small>{tool.description}</small></span>
            </label>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
