import type { SettlementError } from "@svc/sdk";

/** Fix is what helps against a failure: a sentence, and a page where it is done. */
export interface Fix {
  readonly says: string;
  readonly page?: string;
  readonly label?: string;
}

const models = { page: "settings/models", label: "Open model settings" };

/** fixOf is the next act after a failure. */
export function fixOf(error: Pick<SettlementError, "type" | "message"> | undefined, agent: string): Fix {
  switch (error?.type) {
    case "model_key_missing":
      return { says: "Store a key for this provider, then ask again.", page: "settings/models", label: "Add a model key" };
    case "model_key_refused":
      return { says: "The provider did not accept the key. Replace it, then ask again.", page: "settings/models", label: "Replace the key" };
    case "model_unknown":
      return { says: "The provider does not have this model. Choose another one.", ...(agent === "central" ? models : { page: `agents/${agent}`, label: "Open the agent" }) };
    case "address_forbidden":
      return { says: "The operator does not allow this address.", ...models };
    case "storage_quota_exceeded":
      return { says: "Delete what is not needed, then ask again.", page: "storage", label: "Open storage" };
    case "submission_timeout":
      return { says: "It took longer than it may. Ask for less at a time." };
    case "submission_interrupted":
    case "submission_retry_exhausted":
      return { says: "The server stopped too often while this ran. Ask again when it is steady." };
    case "operation_failed":
      return { says: "The model could not answer. Where it goes on failing, look at the model's settings.", ...models };
    default:
      return { says: "Ask again. Where it goes on failing, the diagnostics help whoever runs this service." };
  }
}
