// What Agents opens, judged by axe: see dialogs.mjs.
// only in the soak
import { judgeSurface } from "./dialogs.mjs";

await judgeSurface("agents", 18);
