import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Trouble } from "../kit/Refusal";
import { Time } from "../kit/Time";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { nameOf } from "../server/session";
import { useStaff } from "../server/staff";
import { deviceName, type Acquaintance } from "./person";

/** PersonSessions is where somebody is signed in, and the end of all of it. */
export function PersonSessions({ person }: { person: Acquaintance }): ReactNode {
  const { why } = useStaff();
  const [asking, setAsking] = useState(false);
  const none = person.devices.length === 0 ? "There is nothing to revoke" : undefined;
  return (
    <section>
      <h3>
        Sessions
        <Button small why={why ?? none} onClick={() => setAsking(true)}>Revoke all</Button>
      </h3>
      {none && <p className="faint t13">Signed in nowhere.</p>}
      {person.devices.map((device) => (
        <div key={device.id} className="sess" title={device.ip}>
          <span className="dot ok" />
          <span className="grow trunc">
            {deviceName(device.userAgent)} <span className="faint">· {surfaces[device.surface] ?? device.surface}</span>
          </span>
          <span className="faint num t12">
            <Time at={device.lastSeenAt} quiet />
          </span>
        </div>
      ))}
      {asking && <Revoke person={person} onClose={() => setAsking(false)} />}
    </section>
  );
}

const surfaces: Record<string, string> = { platform: "Platform", agents: "Agents", admin: "Admin" };

function Revoke({ person, onClose }: { person: Acquaintance; onClose: () => void }): ReactNode {
  const revoke = useAct("post", "/api/admin/people/{id}/revoke-sessions");
  const toast = useToast();
  const send = async (): Promise<void> => {
    const done = await revoke.run({ path: { id: person.id } });
    if (!done) return;
    toast({ tone: "ok", text: done.answer.revoked === 1 ? "One session has ended." : `${done.answer.revoked} sessions have ended.` });
    onClose();
  };
  return (
    <Dialog
      title={`Sign ${nameOf(person)} out everywhere`}
      onClose={onClose}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={revoke.busy}>Revoke all</Button>
        </>
      }
    >
      {revoke.error && <Trouble error={revoke.error} />}
      <p className="dim">Every session ends at once, also the one in use. They can sign in again, and read of it in their audit log.</p>
    </Dialog>
  );
}
