import { useEffect, useLayoutEffect, useState } from "react";
import type { Agent, Pending, Unsent } from "@svc/react";
import type { Attachment, DeliveredMessage } from "@svc/sdk";

/** So many characters of images are kept. The browser has little room, and drafts need some of it. */
const mostImages = 1_000_000;

/**
 * useSendings keeps the prompts that the service may not have: those that are being sent, were refused, or were not answered. They outlive
 * a reload with the keys of their sendings, so that one that is sent again is admitted once.
 */
export function useSendings({ status, error, pending, restore }: Agent, name: string): void {
  const key = `svc.sendings.${name}`;
  const [before, setBefore] = useState(() => read(key));
  // What stood there before the conversation was read would be moved by it.
  const known = status !== "loading" || error !== undefined;
  useLayoutEffect(() => {
    if (!known || before.length === 0) return;
    before.forEach(restore);
    setBefore([]);
  }, [known, before, restore]);
  useEffect(() => write(key, [...before, ...unsentIn(pending)]), [key, before, pending]);
}

/** unsentIn are the prompts of this page that have no submission. Images for which there is no room keep their names alone. */
export function unsentIn(pending: readonly Pending[]): readonly Unsent[] {
  let room = mostImages;
  return pending.flatMap(({ state, message, submissionId, sending }) => {
    if (!sending || submissionId !== undefined) return [];
    const size = imagesOf(message).reduce((sum, { data }) => sum + data.length, 0);
    const fits = size <= room;
    if (fits) room -= size;
    return [{ state, message: fits ? message : bare(message), sending }];
  });
}

/** bare is a prompt without the bytes of its images. */
export function bare(message: DeliveredMessage): DeliveredMessage {
  return message.kind === "user" && message.attachments ? { ...message, attachments: message.attachments.map((image) => ({ ...image, data: "" })) } : message;
}

/** lacksImages reports whether the images of a prompt were not kept: what is left of it is another prompt. */
export function lacksImages(message: DeliveredMessage): boolean {
  return imagesOf(message).some(({ data }) => data === "");
}

export function imagesOf(message: DeliveredMessage): readonly Attachment[] {
  return (message.kind === "user" && message.attachments) || [];
}

function read(key: string): readonly Unsent[] {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "[]") as Unsent[];
  } catch {
    return [];
  }
}

function write(key: string, unsent: readonly Unsent[]): void {
  try {
    if (unsent.length === 0) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(unsent));
  } catch {
    // They are only kept for a reload.
  }
}
