import type { ReactNode } from "react";
import { Field, PasswordField } from "../kit/Field";
import { SecretField } from "../kit/SecretField";
import { authNames, type Auth } from "./server";

export interface Address {
  readonly url: string;
  readonly auth: Auth;
  readonly token: string;
}

const auths: readonly { auth: Auth; note: string }[] = [
  { auth: "none", note: "Anybody may call it." },
  { auth: "bearer", note: "A token that you paste. It is sealed, and never shown again." },
  { auth: "oauth", note: "You sign in at the server, and come back." },
];

/** ServerFields are where a server is, and by what it is reached. */
export function ServerFields({ value, onChange, errors, stored = false }: { value: Address; onChange: (value: Address) => void; errors: Record<string, string>; /** The service has a token already. */ stored?: boolean }): ReactNode {
  return (
    <>
      <Field label="Address" type="url" inputMode="url" placeholder="https://mcp.example.com/mcp" value={value.url} autoFocus autoComplete="off" spellCheck={false} error={errors["url"]} onChange={(event) => onChange({ ...value, url: event.target.value.trim() })} />
      <fieldset className="radios">
        <legend>Sign-in</legend>
        {auths.map(({ auth, note }) => (
          <label key={auth}>
            <input type="radio" className="round" name="auth" checked={value.auth === auth} onChange={() => onChange({ ...value, auth })} />
            <span><b>{authNames[auth]}</b><small>{note}</small></span>
          </label>
        ))}
      </fieldset>
      {value.auth === "bearer" &&
        (stored ? (
          <SecretField label="Token" stored value={value.token} error={errors["token"]} onChange={(token) => onChange({ ...value, token: token.trim() })} />
        ) : (
          <PasswordField label="Token" value={value.token} error={errors["token"]} autoComplete="off" placeholder="Paste it here" onChange={(event) => onChange({ ...value, token: event.target.value.trim() })} />
        ))}
    </>
  );
}
