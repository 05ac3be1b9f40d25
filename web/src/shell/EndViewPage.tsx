import type { ReactNode } from "react";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Empty } from "../kit/Empty";
import { Page } from "./Page";
import { Trouble } from "../kit/Refusal";
import { useAct } from "../server/act";

/** EndViewPage ends what the bar of an impersonation leads here for: it lives on Admin, where it began. */
export function EndViewPage(): ReactNode {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const end = useAct("delete", "/api/admin/impersonations/{id}");
  const navigate = useNavigate();
  const confirm = async (): Promise<void> => {
    if (await end.run({ path: { id } })) void navigate({ to: "/" });
  };
  return (
    <Page title="End the read-only session">
      {end.error && <Trouble error={end.error} />}
      <Empty icon="eye" title="End the read-only session?" act={<Button look="primary" busy={end.busy} autoFocus onClick={() => void confirm()}>End it</Button>}>
        The customer's log keeps what was read, and why.
      </Empty>
    </Page>
  );
}
