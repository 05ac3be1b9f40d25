import { useEffect, useState, type ReactNode } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { SvcError } from "@svc/sdk";
import { place } from "../server/place";
import { readSession, sessionKey, signInAddress, useSession } from "../server/session";
import { useServer } from "../server/workspace";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { PasswordField } from "./Field";

/** How often another tab's sign-in is looked for, in milliseconds. */
const lookEvery = 1_500;

/** ReauthDialog asks for a proof of who is here: the password, or a sign-in in another tab. What was typed on the page stays. */
export function ReauthDialog({ refusal, onDone }: { refusal: SvcError; onDone: (proven: boolean) => void }): ReactNode {
  const account = useSession().data?.account;
  const ended = refusal.status === 401;
  if (ended) return <SignInAgain onDone={onDone} />;
  if (account && !account.methods.includes("password")) return <ProveElsewhere since={refusal} onDone={onDone} />;
  return <Password onDone={onDone} />;
}

function Password({ onDone }: { onDone: (proven: boolean) => void }): ReactNode {
  const client = useServer();
  const queries = useQueryClient();
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<string>();
  const send = async (): Promise<void> => {
    setBusy(true);
    setWrong(undefined);
    try {
      // On Admin the proof opens the authority of the staff as well.
      await client.api.post(place.surface === "admin" ? "/api/auth/elevate" : "/api/auth/reauth", { body: { password } });
      void queries.invalidateQueries({ queryKey: sessionKey });
      onDone(true);
    } catch (thrown) {
      setWrong(thrown instanceof SvcError ? thrown.message : "Something went wrong on this page.");
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="Confirm that it is you"
      onClose={() => onDone(false)}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={() => onDone(false)}>Cancel</Button>
          <Button type="submit" look="primary" busy={busy} why={password === "" ? "Type your password first" : undefined}>
            Confirm
          </Button>
        </>
      }
    >
      <p className="dim">This needs a proof of the last ten minutes. What you were doing goes on afterwards.</p>
      <PasswordField label="Password" value={password} onChange={(event) => setPassword(event.target.value)} error={wrong} autoComplete="current-password" autoFocus />
    </Dialog>
  );
}

/** SignInAgain waits for a sign-in of the same person in another tab: nothing on this page is lost meanwhile. */
function SignInAgain({ onDone }: { onDone: (proven: boolean) => void }): ReactNode {
  const before = useSession().data?.account?.id;
  useElsewhere((session) => session.authenticated && (before === undefined || session.account?.id === before), () => onDone(true));
  return (
    <Dialog title="Your session has ended" onClose={() => onDone(false)}>
      <p className="dim">Sign in again in another tab and come back: this page keeps what you typed and goes on by itself. Work on the server never stopped.</p>
      <div className="row">
        <a className="btn primary" href={signInAddress(`${place[place.surface]}/`)} target="_blank" rel="noopener">
          Sign in
        </a>
        <span className="row dim t12">
          <span className="spin" /> Waiting for it
        </span>
      </div>
    </Dialog>
  );
}

/** ProveElsewhere is for people without a password: their provider vouches for them in another tab. */
function ProveElsewhere({ since, onDone }: { since: SvcError; onDone: (proven: boolean) => void }): ReactNode {
  const [asked] = useState(() => Date.now());
  const client = useServer();
  const proven = async (): Promise<void> => {
    // On Admin the fresh proof opens the authority of the staff as well.
    const opened = place.surface !== "admin" || (await client.api.post("/api/auth/elevate", { body: {} }).then(() => true, () => false));
    onDone(opened);
  };
  useElsewhere((session) => Date.parse(session.session?.authTime ?? "") > asked, () => void proven(), since);
  return (
    <Dialog title="Confirm that it is you" onClose={() => onDone(false)}>
      <p className="dim">This needs a proof of the last ten minutes. Confirm in another tab and come back: what you were doing goes on by itself.</p>
      <div className="row">
        <a className="btn primary" href={`${place.platform}/account/reauth?returnTo=%2Faccount`} target="_blank" rel="noopener">
          Confirm with your provider
        </a>
      </div>
    </Dialog>
  );
}

/** useElsewhere looks at the session until it is as wanted. */
function useElsewhere(wanted: (session: Awaited<ReturnType<typeof readSession>>) => boolean, then: () => void, ...of: unknown[]): void {
  const client = useServer();
  const queries = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    const look = async (): Promise<void> => {
      const session = await readSession(client, stop.signal).catch(() => undefined);
      if (stop.signal.aborted || !session || !wanted(session)) return;
      stop.abort();
      queries.setQueryData(sessionKey, session);
      then();
    };
    const timer = setInterval(() => void look(), lookEvery);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
    // The questions are asked anew only where the client is another.
  }, [client, queries, ...of]);
}
