import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { TextField } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { useAct } from "../server/act";
import { fieldErrors } from "../server/refusal";
import { nameOf } from "../server/session";
import type { Acquaintance } from "./person";

/** The least that a reason says, in characters. */
const least = 10;

/** Impersonate begins to look at the service as a customer does, for a reason that the customer reads. */
export function Impersonate({ person }: { person: Acquaintance }): ReactNode {
  const begin = useAct("post", "/api/admin/impersonations");
  const [reason, setReason] = useState("");
  const name = nameOf(person);
  const short = [...reason.trim()].length < least;
  const start = async (): Promise<void> => {
    const done = await begin.run({ body: { accountId: person.id, reason: reason.trim() } });
    // The address works once, in this browser.
    if (done) location.assign(done.answer.url);
  };
  const never = neverAs(person);
  return (
    <section className="impersonate">
      <h3>Impersonate {name}</h3>
      {never ? (
        <p className="dim t13">{never}</p>
      ) : (
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            if (!short && !begin.busy) void start();
          }}
        >
          <p className="dim t13">Read-only, 60 minutes at most. {name} is told by mail and sees it in their audit log.</p>
          {begin.error && <Trouble error={begin.error} />}
          <TextField label="Reason" hint={`at least ${least} characters`} value={reason} maxLength={500} rows={2} error={fieldErrors(begin.error)["reason"]} onChange={(event) => setReason(event.target.value)} />
          <Button type="submit" look="primary" icon="eye" busy={begin.busy} why={short ? "Say why first, in at least 10 characters" : undefined}>
            Start read-only session
          </Button>
        </form>
      )}
    </section>
  );
}

/** neverAs is why nobody looks as somebody. */
function neverAs(person: Acquaintance): string | undefined {
  if (person.serviceRole !== "none") return "Nobody looks at the service as other staff.";
  if (person.eraseAt) return "The account is deleted.";
  if (person.suspended) return "The account is suspended: there is nothing that it sees.";
  return undefined;
}
