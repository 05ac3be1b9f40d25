import { useState, type ReactNode } from "react";
import "../look/health.css";
import { count } from "../kit/amount";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Refusal, Trouble } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useRead } from "../server/read";
import { useStaff } from "../server/staff";
import { Page } from "../shell/Page";
import { Progress } from "./RotationCard";
import { rotationOf, type Rotation } from "./rotation";

/** SecretStorePage is the keys that seal every secret of the service, and how far the move to the newest has come. */
export function SecretStorePage(): ReactNode {
  const { data, error, refetch } = useRead("/api/admin/secret-store", { every: 5_000 });
  const { why } = useStaff();
  const [asking, setAsking] = useState(false);
  const [todo, setTodo] = useState<readonly string[]>([]);
  const rotation = data && rotationOf(data);
  const moving = rotation && rotation.left > 0 ? "The last rotation is not done" : undefined;
  return (
    <Page title="Secret-store keys" acts={<Button look="primary" icon="redo" why={why ?? (data ? undefined : "Not read yet") ?? moving} onClick={() => setAsking(true)}>Rotate</Button>}>
      {error && data && <Trouble error={error} stale onRetry={() => void refetch()} />}
      {error && !data && <Refusal error={error} onRetry={() => void refetch()} />}
      <div className="body pad key-store">
        {rotation && (
          <section className="card" aria-label="Rotation">
            <header>
              <h2>Rotation</h2>
              <Tag tone={rotation.left > 0 ? "live" : "ok"}>{rotation.left > 0 ? "Rotating" : "Done"}</Tag>
            </header>
            <div className="rot">
              <Progress rotation={rotation} active={data.activeKid} />
            </div>
          </section>
        )}
        {todo.length > 0 && <Todo todo={todo} />}
        {rotation && <Keys rotation={rotation} />}
        {!data && !error && (
          <div className="wait" role="status" aria-label="Loading the keys">
            <span className="skeleton block" style={{ height: 110 }} />
            <span className="skeleton block" style={{ height: 180 }} />
          </div>
        )}
      </div>
      {asking && <RotateDialog onClose={() => setAsking(false)} onDone={setTodo} />}
    </Page>
  );
}

/** Todo is what is left to whoever keeps the machines. */
function Todo({ todo }: { todo: readonly string[] }): ReactNode {
  return (
    <section className="card" aria-label="Left to do">
      <header>
        <h2>Left to do on the machines</h2>
      </header>
      <ol className="todo">
        {todo.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </section>
  );
}

function Keys({ rotation }: { rotation: Rotation }): ReactNode {
  return (
    <section className="card" aria-label="Keys">
      <header>
        <h2>Keys</h2>
        <span className="faint t12">what they seal never leaves the server</span>
      </header>
      <table>
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">State</th>
            <th scope="col" className="right">Values</th>
            <th scope="col">To remove it</th>
          </tr>
        </thead>
        <tbody>
          {rotation.keys.map((key) => (
            <tr key={key.kid}>
              <td className="mono">{key.kid}</td>
              <td>
                <Tag tone={key.active ? "ok" : key.rows > 0 ? "warn" : ""}>{key.active ? "Active" : key.rows > 0 ? "In use" : "Unused"}</Tag>
              </td>
              <td className="num right">{count(key.rows)}</td>
              <td className="dim">{removal(key)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** removal says how a key is taken away, which only whoever holds the machine does. */
function removal(key: Rotation["keys"][number]): ReactNode {
  if (key.active) return "It seals what is written now";
  if (key.rows > 0) return `Refused: ${count(key.rows)} values still need it`;
  return (
    <>
      On the machine: <code>svc secrets rotate --remove-old</code>
    </>
  );
}

function RotateDialog({ onClose, onDone }: { onClose: () => void; onDone: (todo: readonly string[]) => void }): ReactNode {
  const rotate = useAct("post", "/api/admin/secret-store/rotate");
  const toast = useToast();
  const send = async (): Promise<void> => {
    const done = await rotate.run();
    if (!done) return;
    onDone(done.answer.todo ?? []);
    toast({ tone: "ok", text: done.answer.status === "rotated" ? `Everything is under ${done.answer.activeKid} now.` : "The rotation has begun." });
    onClose();
  };
  return (
    <Dialog
      title="Rotate the keys"
      onClose={onClose}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={rotate.busy}>Rotate</Button>
        </>
      }
    >
      {rotate.error && <Trouble error={rotate.error} />}
      <p className="dim">A new key is made and every secret is moved to it. People notice nothing. The old key stays in the file until nobody needs it; back the file up before it is removed.</p>
    </Dialog>
  );
}
