import { useState, type ReactNode } from "react";
import { argsIn, envIn, type Program } from "./program";
import { EditDialog } from "./EditServer";
import { ProgramFields } from "./ProgramFields";
import type { ServerDetail } from "./server";

/** EditProgram changes how a server is started, and starts it again. */
export function EditProgram({ server, onClose }: { server: ServerDetail; onClose: () => void }): ReactNode {
  const args = server.args ?? [];
  const [program, setProgram] = useState<Program>({ command: server.command ?? "", args: args.join("\n"), env: "" });
  const stored = server.envNames ?? [];
  const env = envIn(program.env);
  const another = program.command.trim() !== server.command || argsIn(program.args).join("\n") !== args.join("\n");
  const body = {
    ...(another && { command: program.command.trim(), args: argsIn(program.args) }),
    ...(env && Object.keys(env).length > 0 && { env }),
  };
  const missing = program.command.trim() === "" ? "Write its command first." : env ? undefined : "Write one variable a line.";
  return (
    <EditDialog server={server} body={body} missing={missing} onClose={onClose}>
      {(errors) => (
        <>
          <ProgramFields value={program} onChange={setProgram} errors={errors} stored={stored} />
          {another && stored.length > 0 && !program.env && <p className="help warn">Another program starts without the variables of this one. Write them again.</p>}
        </>
      )}
    </EditDialog>
  );
}
