import type { ReactNode } from "react";
import { Icon } from "../kit/Icon";
import { place } from "../server/place";
import { useHere } from "../server/role";
import { mayOf, roleName, roles, rows } from "./role";

/** RoleTable is what each role may do, with one's own column marked. */
export function RoleTable(): ReactNode {
  const { facts } = useHere();
  // The authority of staff is that of the service, whatever it is called.
  const own = place.surface === "admin" ? undefined : facts?.role;
  return (
    <section className="role-table">
      <h3 id="roles">What each role may do</h3>
      <table className="matrix" aria-labelledby="roles">
        <thead>
          <tr>
            <td />
            {roles.map((role) => (
              <th key={role} scope="col" className={role === own ? "me-col" : undefined}>{roleName(role)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.what}>
              <td>{row.what}</td>
              {roles.map((role) => (
                <td key={role} className={role === own ? "me-col" : undefined}><Cell may={mayOf(role, row)} /></td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="help">{own && "Your column is marked. "}Teams add a role on their projects; the higher one counts. Nothing takes a role away.</p>
    </section>
  );
}

function Cell({ may }: { may: "yes" | "no" | "read" }): ReactNode {
  if (may === "read") return "read";
  if (may === "yes") return <><Icon name="check" small /><span className="sr">yes</span></>;
  return <span className="faint">–<span className="sr">no</span></span>;
}
