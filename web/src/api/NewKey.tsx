import { useEffect, useRef, useState, type FormEvent, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Sheet } from "../kit/Dialog";
import { Field } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { Checkbox } from "../kit/Switch";
import { Segments } from "../kit/Tabs";
import { exact } from "../kit/Time";
import { useAct } from "../server/act";
import { place } from "../server/place";
import { fieldErrors } from "../server/refusal";
import { useMay } from "../server/role";
import { dayOf, endOf, scopes, type Life, type Scope } from "./key";
import type { Made } from "./KeyMade";

const lives: readonly { id: Life; label: string }[] = [
  { id: "30", label: "30 d" },
  { id: "90", label: "90 d" },
  { id: "365", label: "1 year" },
  { id: "date", label: "Date" },
  { id: "never", label: "Never" },
];

/** Staff lend a hand: their keys live a week at most. */
const staffLives: readonly { id: Life; label: string }[] = [{ id: "date", label: "Date, a week at most" }];

/** NewKey makes a key: its name, what it may do, and until when. Its value is shown once. */
export function NewKey({ onClose, onMade }: { onClose: () => void; onMade: (made: Made) => void }): ReactNode {
  const staff = place.surface === "admin";
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<readonly Scope[]>(["agents:write", "agents:read"]);
  const [life, setLife] = useState<Life>(staff ? "date" : "90");
  // A life counts from here: a key that is asked for again is the same.
  const [now] = useState(() => new Date());
  const [date, setDate] = useState(() => (staff ? dayOf(new Date(now.getTime() + 6 * 86_400_000)) : ""));
  const [sure, setSure] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const owner = useMay("own");
  const make = useAct("post", "/api/workspaces/{username}/{business}/keys");

  const end = endOf(life, date, now);
  const never = life === "never";
  const problem = whyNot({ name, chosen, end, never, owner: owner.may, sure });
  const errors = fieldErrors(make.error);
  const toggle = (scope: Scope, on: boolean): void => setChosen((before) => (on ? [...before, scope] : before.filter((each) => each !== scope)));
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (problem) return;
    const body = { name: name.trim(), scopes: [...chosen], expiresAt: end ? end.toISOString() : null, ...(never && { confirm: true }) };
    const done = await make.run({ body });
    if (done) onMade(done.answer);
  };
  return (
    <Sheet title="New key" onClose={onClose}>
      <form className="new-key" noValidate onSubmit={(event) => void send(event)}>
        {make.error && Object.keys(errors).length === 0 && <Trouble error={make.error} />}
        <section>
          <Field ref={first} label="Name" value={name} onChange={(event) => setName(event.target.value)} error={errors["name"]} maxLength={64} autoComplete="off" placeholder="ci" help="Where it is used, so that you know it again." />
        </section>
        <section>
          <h3>Scopes <span className="faint w4 t12 num">{chosen.length} of {scopes.length}</span></h3>
          <div className="opts" role="group" aria-label="Scopes">
            {scopes.map(({ scope, note }) => (
              <Checkbox key={scope} label={scope} on={chosen.includes(scope)} onChange={(on) => toggle(scope, on)}>
                <span className="faint t12">{note}</span>
              </Checkbox>
            ))}
          </div>
          {errors["scopes"] && <p className="help bad">{errors["scopes"]}</p>}
          <p className="help">No key reaches secrets, people, keys or billing. A key never does more than you may.</p>
        </section>
        <section>
          <h3>Expiry</h3>
          <Segments label="Expiry" tabs={staff ? staffLives : lives} value={life} onChange={(id) => setLife(id as Life)} />
          {life === "date" && <Field label="Last day" type="date" value={date} onChange={(event) => setDate(event.target.value)} error={errors["expiresAt"] ?? (date && end === undefined ? "A day from today on, within a year." : undefined)} />}
          {never && !owner.may && <p className="help">{owner.why}</p>}
          {never && owner.may && <Checkbox label="I know that this key works until somebody revokes it" on={sure} onChange={setSure} />}
          {end && <p className="help num">Ends {exact(end)}.</p>}
        </section>
        <footer>
          <span className="help grow">{problem ?? "May ask for your password"}</span>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={make.busy} why={problem}>Make key</Button>
        </footer>
      </form>
    </Sheet>
  );
}

function whyNot(of: { name: string; chosen: readonly Scope[]; end: Date | null | undefined; never: boolean; owner: boolean; sure: boolean }): string | undefined {
  if (!of.name.trim()) return "Give it a name";
  if (of.chosen.length === 0) return "Choose a scope";
  if (of.never && !of.owner) return "Only owners choose Never";
  if (of.never && !of.sure) return "Confirm that it never ends";
  return of.end === undefined ? "Choose a day" : undefined;
}
