import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import "../look/models.css";
import { Icon } from "../kit/Icon";
import { Refusal, Trouble } from "../kit/Refusal";
import { place } from "../server/place";
import { useRead } from "../server/read";
import { useWorkspace } from "../server/workspace";
import { baseOf, usePath } from "../shell/where";
import { DefaultModel } from "./DefaultModel";
import { counted, isSet, scripted, stateOf, usesOf, type Overview, type Use } from "./models";
import { ProviderRow } from "./ProviderRow";
import { Settings } from "./Settings";

/** ModelsPage is which models the workspace may ask, by whose keys, and who asks them. */
export function ModelsPage(): ReactNode {
  const { data, error, refetch } = useRead("/api/workspaces/{username}/{business}/models");
  const agents = useRead("/api/workspaces/{username}/{business}/agents", { query: { limit: 200 }, when: place.surface !== "platform" }).data?.items;
  const uses = data && agents && usesOf(data, agents);
  const retry = (): void => void refetch();
  return (
    <Settings thing="Models">
      {error && data && <Trouble error={error} stale onRetry={retry} />}
      {data && <ScriptedBanner overview={data} uses={uses} />}
      <div className="body list">{data ? <Models overview={data} uses={uses} /> : error ? <Refusal error={error} onRetry={retry} /> : <Loading />}</div>
    </Settings>
  );
}

function Models({ overview, uses }: { overview: Overview; uses: readonly Use[] | undefined }): ReactNode {
  const providers = overview.items.filter((each) => each.provider !== scripted);
  const troubled = providers.filter((each) => isSet(each) && ["bad", "warn"].includes(stateOf(each).tone)).length;
  return (
    <>
      <DefaultModel overview={overview} uses={uses} />
      <h2>
        Providers <span>{providers.length}{troubled > 0 && `, ${counted(troubled, "needs", "need")} you`}</span>
      </h2>
      {providers.map((each) => (
        <ProviderRow key={each.provider} provider={each} uses={uses} />
      ))}
      {uses ? <Uses uses={uses} /> : <Elsewhere />}
    </>
  );
}

/** ScriptedBanner says wherever the built-in model answers that it is no real one. */
function ScriptedBanner({ overview, uses }: { overview: Overview; uses: readonly Use[] | undefined }): ReactNode {
  const users = uses?.find((use) => use.model === `${scripted}/words`)?.agents ?? [];
  const isDefault = overview.default === `${scripted}/words`;
  if (!isDefault && users.length === 0) return null;
  return (
    <div className="banner" role="status">
      <Icon name="info" />
      <p>
        {users.length > 0 ? `${counted(users.length, "agent")} ${users.length === 1 ? "answers" : "answer"}` : "Agents answer"} from the <b>built-in scripted model</b>
        {users.length > 0 && users.length < 6 && `: ${users.join(", ")}`}. It repeats words and thinks nothing. {overview.message || (isDefault ? "Choose another default model." : "Choose another model for them.")}
      </p>
    </div>
  );
}

function Uses({ uses }: { uses: readonly Use[] }): ReactNode {
  const path = usePath();
  return (
    <>
      <h2 id="uses">
        Models <span>{uses.length} in use</span>
      </h2>
      <table className="slim uses" aria-labelledby="uses">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Used by</th>
          </tr>
        </thead>
        <tbody>
          {uses.map((use) => (
            <tr key={use.model}>
              <td className="mono">
                {use.model} {use.isDefault && <span className="tag line">default</span>}
              </td>
              <td>
                {use.agents.length === 0 && <span className="faint">no agent</span>}
                {use.agents.map((agent, i) => (
                  <span key={agent}>
                    {i > 0 && ", "}
                    <Link to={path(`agents/${agent}`)}>{agent}</Link>
                  </span>
                ))}
                {use.trouble && <span className="bad"> {use.trouble}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** Elsewhere is for Platform, which knows no agents. */
function Elsewhere(): ReactNode {
  const workspace = useWorkspace();
  if (place.surface !== "platform") return null;
  return (
    <p className="help spaced-out">
      <span>Which agent asks which model is shown on <a className="link" href={`${place.agents}${baseOf(workspace)}/settings/models`}>Agents</a>.</span>
    </p>
  );
}

/** Loading is the page as it will stand. */
function Loading(): ReactNode {
  return (
    <div className="wait" role="status" aria-label="Loading models">
      <div className="default-model"><div className="grow"><span className="skeleton short" /></div></div>
      <h2>Providers</h2>
      {[0, 1, 2].map((row) => (
        <div className="prov" key={row}>
          <div className="row"><span className="glyph" /><span className="grow"><span className="skeleton short" /></span></div>
          <span className="skeleton" />
          <span className="skeleton short" />
          <span />
          <span className="skeleton" />
        </div>
      ))}
    </div>
  );
}
