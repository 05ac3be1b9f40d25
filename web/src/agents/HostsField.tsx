import { useState, type ReactNode } from "react";
import { Field } from "../kit/Field";

/** HostsField are the hosts that http_fetch may ask: nobody asks others. */
export function HostsField({ hosts, onChange, why }: { hosts: readonly string[]; onChange: (hosts: string[]) => void; why?: string | undefined }): ReactNode {
  const [typed, setTyped] = useState(hosts.join(", "));
  // What is typed stays as it is, until the hosts become others by another hand.
  const text = hostsIn(typed).join() === hosts.join() ? typed : hosts.join(", ");
  const change = (next: string): void => {
    setTyped(next);
    onChange(hostsIn(next));
  };
  return (
    <div className="sub">
      <div className="two-col wide">
        <Field label="Hosts that http_fetch may ask" placeholder="api.example.com, *.example.org" value={text} disabled={why !== undefined} onChange={(event) => change(event.target.value)} autoComplete="off" autoCapitalize="off" spellCheck={false} help={hosts.length === 0 ? "Without one it can fetch nothing." : undefined} />
      </div>
    </div>
  );
}

export function hostsIn(text: string): string[] {
  return [...new Set(text.toLowerCase().split(/[\s,]+/).filter(Boolean))];
}
