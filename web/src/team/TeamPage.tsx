import { useState, type ReactNode } from "react";
import "../look/team.css";
import { Button } from "../kit/Button";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Avatar } from "../kit/Avatar";
import { Search } from "../kit/Search";
import { Time } from "../kit/Time";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { nameOf, useSession } from "../server/session";
import { useWorkspace } from "../server/workspace";
import { Page } from "../shell/Page";
import { Invitations } from "./Invitations";
import { InviteDialog } from "./InviteDialog";
import { PersonMenu, RoleMenu } from "./PersonMenu";
import { RoleTable } from "./RoleTable";
import { because, type Member, type Team } from "./role";
import { Teams } from "./Teams";

/** TeamPage is who works here, as what, and who is asked to come. */
export function TeamPage(): ReactNode {
  const [query, setQuery] = Search.useQuery();
  const people = useList("/api/workspaces/{username}/{business}/people", { query: { q: query || undefined } });
  const teams = useList("/api/workspaces/{username}/{business}/teams", { query: { limit: 200 } });
  const manage = useMay("manage");
  const review = useMay("review");
  const [inviting, setInviting] = useState<string>();
  const columns = useColumns(teams.items ?? []);
  const acts = (
    <>
      <Search bare label="Name of a person" placeholder="Name" query={query} onQuery={setQuery} />
      <Button look="primary" icon="plus" why={manage.why} onClick={() => setInviting("")}>Invite</Button>
    </>
  );
  return (
    <Page title="Team" beside={people.items && !query && !people.hasMore && <span className="faint num t13 desk">{people.items.length} {people.items.length === 1 ? "person" : "people"}</span>} acts={acts}>
      <div className="split teams">
        <section className="col people-col" aria-label="People">
          <DataList
            label="People"
            className="members"
            list={people}
            columns={columns}
            keyOf={(person) => person.account}
            onClear={query ? () => setQuery("") : undefined}
            empty={<Empty icon="team" title="Nobody is here" />}
          />
          {review.may && !query && <Invitations onInvite={setInviting} />}
          {manage.may && <p className="help note">You can give any role up to your own. A change counts from the next request on.</p>}
        </section>
        <aside className="drawer" aria-label="Teams and roles">
          <Teams list={teams} />
          <RoleTable />
        </aside>
      </div>
      {inviting !== undefined && <InviteDialog email={inviting} onClose={() => setInviting(undefined)} />}
    </Page>
  );
}

function useColumns(teams: readonly Team[]): readonly Column<Member>[] {
  const self = useSession().data?.account?.id;
  const workspace = useWorkspace();
  const names = (of: Member): boolean => of.username === workspace?.username;
  return [
    {
      head: "Person",
      cell: (of) => (
        <div className="row member">
          <Avatar name={nameOf(of)} />
          <span className="grow trunc">
            <b>{nameOf(of)}</b> {of.account === self && <span className="faint w4">you</span>}
            <small className="trunc">{of.username}</small>
          </span>
        </div>
      ),
    },
    { head: "Role", phone: "end", cell: (of) => <RoleMenu member={of} always={names(of)} /> },
    {
      head: "Teams",
      phone: "hide",
      cell: (of) => {
        const more = because(of, teams);
        if (names(of) && of.teams.length === 0) return <span className="faint">always an owner here</span>;
        return (
          <>
            {of.teams.map((team) => team.name).join(", ") || <span className="faint">–</span>}
            {more && <small>{more}</small>}
          </>
        );
      },
    },
    { head: "Seen", className: "num dim", phone: "hide", cell: (of) => (of.lastSeenAt ? <Time at={of.lastSeenAt} /> : "never") },
    { head: "Acts", className: "acts", phone: "hide", cell: (of) => <PersonMenu member={of} always={names(of)} /> },
  ];
}
