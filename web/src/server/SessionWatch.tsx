import { useEffect } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { SvcError } from "@svc/sdk";
import { wantsProof } from "./act";
import { useReauth } from "./reauth";

/** SessionWatch notices that reading is refused for want of a proof, asks for it once, and reads again after. */
export function SessionWatch(): null {
  const queries = useQueryClient();
  const prove = useReauth();
  useEffect(() => {
    let asking = false;
    return queries.getQueryCache().subscribe((event) => {
      if (event.type !== "updated" || event.action.type !== "error" || asking) return;
      const error: unknown = event.action.error;
      if (!(error instanceof SvcError) || !wantsProof(error)) return;
      asking = true;
      void prove(error).then((proven) => {
        asking = false;
        if (proven) void queries.invalidateQueries();
      });
    });
  }, [queries, prove]);
  return null;
}
