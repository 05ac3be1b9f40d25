import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { sentenceOf } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useMay } from "../server/role";
import { usePath } from "../shell/where";
import { authNames, stateOf, toolsOn, whereOf, type Server } from "./server";
import { variablesOf } from "./program";
import { ToolBox } from "./ToolBox";

/** McpRow is a server, and below it, where it is open, what it has to offer. */
export function McpRow({ server, open, denied }: { server: Server; open: boolean; /** Somebody said no at the sign-in. */ denied: boolean }): ReactNode {
  const path = usePath();
  const state = stateOf(server.status);
  const bad = server.status === "down" || server.status === "needs_sign_in";
  return (
    <>
      <div className={open ? "mcp opened" : "mcp"} data-server={server.name}>
        <Link className="row stretched" data-row="" to={path(open ? "mcps" : `mcps/${server.id}`)} aria-expanded={open}>
          <span className="glyph"><Icon name="server" /></span>
          <span className="grow"><b className="trunc">{server.name}</b><small className="trunc">{whereOf(server)}</small></span>
        </Link>
        <div>{server.status === "needs_sign_in" ? <span className="tag warn"><Icon name="lock" />{state.word}</span> : <Tag tone={state.tone}>{state.word}</Tag>}</div>
        <div>{server.transport === "stdio" ? "Program" : authNames[server.auth]}<small>{server.transport === "stdio" ? variablesOf(server.envNames) : server.auth === "bearer" ? (server.tokenPresent ? "token stored" : "no token") : ""}</small></div>
        <div className={bad ? "why bad" : "why"}>
          <small className={bad ? "bad" : ""}>{server.statusReason || (server.status === "ok" ? "answers" : server.status === "connecting" ? "nobody has connected it yet" : "")}</small>
          <small><Time at={server.statusAt} quiet /></small>
        </div>
        <div className="right">
          {server.status === "ok" || server.status === "down" ? <span className="num dim t12">{toolsOn(server)}</span> : <Connect server={server} />}
          {server.changedCount > 0 && <span className="tag warn">{server.changedCount} changed</span>}
        </div>
        <Icon name={open ? "down" : "rightc"} small className="faint" />
      </div>
      {open && <ToolBox server={server} denied={denied} />}
    </>
  );
}

/** Connect signs in where that is needed, and lists the tools. */
export function Connect({ server, look = "primary" }: { server: Pick<Server, "id" | "auth" | "status" | "name">; look?: "primary" | "plain" }): ReactNode {
  const connect = useAct("post", "/api/workspaces/{username}/{business}/mcps/{mcp}/connect");
  const [leaving, setLeaving] = useState(false);
  const { why } = useMay("manage");
  const toast = useToast();
  const act = async (): Promise<void> => {
    const done = await connect.run({ path: { mcp: server.id } });
    if (done?.answer.signInUrl) {
      setLeaving(true);
      location.assign(done.answer.signInUrl);
    } else if (done && done.answer.status !== "ok") toast({ tone: "bad", text: done.answer.statusReason || "It is not connected." });
  };
  return (
    <>
      <Button look={look} busy={connect.busy || leaving} why={why} onClick={() => void act()}>{server.auth === "oauth" && server.status === "needs_sign_in" ? "Sign in" : "Connect"}</Button>
      {connect.error && <small className="bad" role="alert">{sentenceOf(connect.error)}</small>}
    </>
  );
}
