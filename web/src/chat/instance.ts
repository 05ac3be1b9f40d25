/** newInstance is the id of a conversation that begins here. */
export function newInstance(): string {
  return crypto.randomUUID().replaceAll("-", "").slice(0, 20);
}
