// What Platform opens, judged by axe: see dialogs.mjs.
// only in the soak
import { judgeSurface } from "./dialogs.mjs";

await judgeSurface("platform", 6);
