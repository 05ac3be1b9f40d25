import { SvcError, type Attachment, type Client, type DeliveredMessage, type FilePart, type Message } from "@svc/sdk";
import { textOf } from "./message.js";

/** deliveredOf is what a user sent, read from the conversation, so that it can be sent again: its images are fetched. */
export async function deliveredOf(client: Client, message: Message): Promise<DeliveredMessage> {
  // The history does not say of what type a signal was.
  if (message.role !== "user") throw new SvcError({ type: "invalid_request", message: "Only what a user sent can be sent again." });
  const files = message.parts.filter((part) => part.type === "file");
  const attachments = await Promise.all(files.map((file) => attachmentOf(client, file)));
  return { kind: "user", body: textOf(message), ...(attachments.length > 0 && { attachments }) };
}

async function attachmentOf(client: Client, { url, mediaType, filename }: FilePart): Promise<Attachment> {
  const { connection } = client;
  const read = connection.patiently({ method: "GET", url: new URL(url!), accept: "*/*" }, (response, attempt) => attempt.blob(response, connection.timing.idle));
  const bytes = await (await read).arrayBuffer();
  return { type: "image", data: base64(new Uint8Array(bytes)), mimeType: mediaType, ...(filename && { filename }) };
}

function base64(bytes: Uint8Array): string {
  const slice = 0x8000; // as many arguments as every engine takes
  let binary = "";
  for (let i = 0; i < bytes.length; i += slice) binary += String.fromCharCode(...bytes.subarray(i, i + slice));
  return btoa(binary);
}
