import { useEffect, useState, type ReactNode } from "react";
import { lasting } from "../kit/amount";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Menu, type MenuItem } from "../kit/Menu";
import { Trouble } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { place } from "../server/place";
import { useMay } from "../server/role";
import { useNames } from "../team/names";
import { askedOf, counted, hostOf, isOwnServer, isSet, providerName, sentence, stateOf, type Provider, type Use } from "./models";
import { AddressDialog, KeyDialog, RemoveDialog } from "./ProviderDialogs";

type Asking = "key" | "address" | "remove";

/** ProviderRow is one provider: whose key is used, whether it works, and what can be done about it. */
export function ProviderRow({ provider, uses }: { provider: Provider; uses: readonly Use[] | undefined }): ReactNode {
  const { why } = useMay("manage");
  const nameOf = useNames();
  const toast = useToast();
  const [asking, setAsking] = useState<Asking>();
  const [pasted, setPasted] = useState("");
  const store = useAct("put", "/api/workspaces/{username}/{business}/models/{provider}", { refreshes: ["/api/workspaces/{username}/{business}/secrets"] });
  const test = useAct("post", "/api/workspaces/{username}/{business}/models/{provider}/test");
  const at = { provider: provider.provider };
  const state = stateOf(provider);
  const name = providerName(provider.provider);
  const set = isSet(provider);
  const users = uses && askedOf(uses, provider.provider);

  const check = async (): Promise<void> => {
    const done = await test.run({ path: at });
    if (done?.answer.result === "ok") toast({ tone: "ok", text: `${name} answers.` });
  };
  const keep = async (): Promise<void> => {
    if (!(await store.run({ path: at, body: { key: pasted.trim() } }))) return;
    setPasted("");
    await check();
  };
  const close = (): void => setAsking(undefined);
  const refused = store.error ?? test.error;
  return (
    <section className="prov" aria-label={name}>
      <div className="row provider">
        <span className="glyph" aria-hidden="true">{name.slice(0, 1)}</span>
        <span className="grow">
          <b>{name}</b> {isOwnServer(provider) && <span className="faint">compatible server</span>}
          <small className="trunc">{hostOf(provider.url)}</small>
        </span>
      </div>
      <div><Tag tone={state.tone} plain={state.tone === "line"}>{state.word}</Tag></div>
      {set ? (
        <>
          <div><StoredBy provider={provider} nameOf={nameOf} /></div>
          <div className="num desk">
            {users !== undefined && counted(users, "agent")}
            {provider.default && <small className="trunc">default: {provider.default.split("/").slice(1).join("/")}</small>}
          </div>
          <div className="row end">
            <Button why={why} busy={test.busy} onClick={() => void check()}>Test</Button>
            <Button look={state.tone === "bad" ? "primary" : "ghost"} why={why} onClick={() => setAsking("key")}>{provider.key.owner === "workspace" ? "Replace" : "Own key"}</Button>
            <More provider={provider} why={why} onAsk={setAsking} />
          </div>
        </>
      ) : (
        <>
          <form
            className="paste"
            id={`paste-${provider.provider}`}
            onSubmit={(event) => {
              event.preventDefault();
              if (pasted.trim() && !why) void keep();
            }}
          >
            <input className="input sm" type="password" aria-label={`${name} key`} placeholder={why ?? "Paste a key"} autoComplete="off" spellCheck={false} disabled={why !== undefined} value={pasted} onChange={(event) => setPasted(event.target.value)} />
          </form>
          <div className="row end">
            <Button type="submit" form={`paste-${provider.provider}`} busy={store.busy || test.busy} why={why ?? (pasted.trim() ? undefined : "Paste a key first")}>Store and test</Button>
            <More provider={provider} why={why} onAsk={setAsking} />
          </div>
        </>
      )}
      {refused && <div className="result-trouble"><Trouble error={refused} /></div>}
      <Result provider={provider} testing={test.busy} />
      {asking === "key" && <KeyDialog provider={provider} onClose={close} onStored={() => void check()} />}
      {asking === "address" && <AddressDialog provider={provider} onClose={close} onStored={() => void check()} />}
      {asking === "remove" && <RemoveDialog provider={provider} onClose={close} users={users ?? 0} />}
    </section>
  );
}

function StoredBy({ provider, nameOf }: { provider: Provider; nameOf: (account: string) => string | undefined }): ReactNode {
  const { key } = provider;
  if (key.owner === "service") return <>The operator's key<small>for every workspace without one of its own</small></>;
  if (!key.present) return <>Asked without a key<small>a server of your own</small></>;
  const who = nameOf(key.updatedBy);
  return (
    <>
      Stored {key.updatedAt && <Time at={key.updatedAt} />} {who && `by ${who}`}
      <small>it cannot be read back</small>
    </>
  );
}

function More({ provider, why, onAsk }: { provider: Provider; why: string | undefined; onAsk: (what: Asking) => void }): ReactNode {
  const items: MenuItem[] = [{ label: "Change the address", icon: "globe", note: provider.provider === "openai" ? "any server that speaks as OpenAI does" : hostOf(provider.url), why, onSelect: () => onAsk("address") }];
  if (provider.key.owner === "workspace" || isOwnServer(provider)) items.push({ label: "Remove", icon: "trash", danger: true, why, onSelect: () => onAsk("remove") });
  return <Menu bare label={`More of ${providerName(provider.provider)}`} className="btn ghost icon" button={<Icon name="more" />} groups={[{ items }]} />;
}

/** Result is what the last check found, or that one is under way. */
function Result({ provider, testing }: { provider: Provider; testing: boolean }): ReactNode {
  const check = provider.lastCheck;
  if (testing) return <Waiting />;
  if (!check) return <p className="result faint">{isSet(provider) ? "Not tested yet." : place.surface === "admin" ? "The key goes to the customer's secret store, and nobody can read it back." : "The key goes to the secret store and cannot be read back, not even by you."}</p>;
  if (check.result === "ok") {
    return (
      <p className="result ok">
        <Icon name="check" small /> <span>{sentence(check.message)} In {lasting(check.latencyMs)}, tested <Time at={check.checkedAt} />.</span>
      </p>
    );
  }
  return (
    <p className="result bad">
      <Icon name="warn" small /> <span><span className="mono bad w5">{check.result}</span> {sentence(check.message)} Tested <Time at={check.checkedAt} />.</span>
    </p>
  );
}

function Waiting(): ReactNode {
  const [began] = useState(() => Date.now());
  const [now, setNow] = useState(began);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <p className="result" role="status">
      <span className="spin" /> <span>Waiting for the first word<span className="num" aria-hidden="true">, {((now - began) / 1000).toFixed(1)} s</span></span>
    </p>
  );
}
