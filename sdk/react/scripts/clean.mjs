// Removes what was built before, so that nothing is packed whose source is gone.
import { rm } from "node:fs/promises";

for (const folder of ["dist", "build"]) await rm(new URL(`../${folder}`, import.meta.url), { recursive: true, force: true });
