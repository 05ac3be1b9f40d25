import type { ReactNode } from "react";
import { Combobox } from "../kit/Combobox";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useMay } from "../server/role";
import { choicesOf, counted, type Overview, type Use } from "./models";

/** What gives the default where nobody chose one. */
const sources: Record<Overview["source"], string> = {
  workspace: "Chosen for this workspace.",
  key: "Nobody chose one: it follows from the key that was stored first.",
  service: "Nobody chose one: it is the service's.",
};

/** DefaultModel is the model of every agent that has no choice of its own. */
export function DefaultModel({ overview, uses }: { overview: Overview; uses: readonly Use[] | undefined }): ReactNode {
  const { may, why } = useMay("manage");
  const choose = useAct("put", "/api/workspaces/{username}/{business}/models");
  const toast = useToast();
  const users = uses?.find((use) => use.isDefault)?.agents.length;
  const put = async (model: string): Promise<void> => {
    const done = await choose.run({ body: { default: model } });
    if (done) toast({ tone: "ok", text: `${done.answer.default} is the default. Work in flight keeps its model.` });
  };
  const choosing = (model: string): void => {
    // What follows from a key or the service can be chosen too, and then stays.
    if (model === overview.default && overview.source === "workspace") return;
    if (model === "" || model.includes("/")) return void put(model);
    toast({ tone: "bad", text: "Write a model as provider/model." });
  };
  const choices = [...choicesOf(overview), { value: "", label: "Choose none", note: "the key that was stored first decides, else the service" }];
  return (
    <>
      {choose.error && <Trouble error={choose.error} />}
      <div className="default-model">
        <div className="grow">
          <div className="label">Default model</div>
          <p className="help">
            For central and every agent without a choice of its own{users !== undefined && `: ${counted(users, "agent")} today`}. {sources[overview.source]}
          </p>
          {why && <p className="help">{why}</p>}
        </div>
        <div className="unlabelled">
          <Combobox
            label="Default model"
            choices={choices}
            value={overview.default}
            free
            disabled={!may || choose.busy}
            onChange={choosing}
          />
        </div>
      </div>
    </>
  );
}
