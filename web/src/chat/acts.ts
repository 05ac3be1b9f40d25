import { useCallback } from "react";
import type { Agent } from "@svc/react";
import { SvcError } from "@svc/sdk";
import { sentenceOf } from "../kit/Refusal";
import { say } from "../kit/say";
import { useToast } from "../kit/Toast";

/** useFailed tells why an act came to nothing. */
export function useFailed(): (thrown: unknown) => void {
  const toast = useToast();
  return useCallback((thrown) => toast({ tone: "bad", text: thrown instanceof SvcError ? sentenceOf(thrown) : "This did not work. Try again." }), [toast]);
}

/** useStop stops all work of a conversation, or one submission, and tells what came of it. */
export function useStop(agent: Agent, submissionId?: string): () => void {
  const toast = useToast();
  const failed = useFailed();
  const stop = async (): Promise<void> => {
    if (await agent.stop(submissionId)) say("Stopping");
    else toast({ text: "Already finished." });
  };
  return () => void stop().catch(failed);
}
