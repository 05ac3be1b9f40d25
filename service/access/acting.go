package access

import (
	"context"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// Acting is somebody in whose name something is done while they may not be there: an agent's tool, a workflow.
type Acting struct {
	Actor     audit.Actor
	Workspace string // id

	by    scope.By
	holds func(*sqldb.Tx) error
}

// Act judges by what is true now: whoever asked for the work may have lost since what they had then. It rests on the database
// alone, so that a runtime without accounts can ask it.
func Act(ctx context.Context, db *sqldb.DB, by scope.By, n Need, at Place) (Acting, error) {
	j, err := sqldb.Read(ctx, db, func(tx *sqldb.Tx) (judgement, error) { return judgeActing(tx, by, n, at) })
	if err != nil {
		return Acting{}, err
	}
	v := Visitor{judgement: j}
	actor := v.Actor()
	if name := by.Channel(); name != "" {
		actor = audit.Actor{Kind: audit.Channel, ID: name}
	}
	return Acting{Actor: actor, Workspace: j.Member.ID, by: by, holds: func(tx *sqldb.Tx) error {
		_, err := judgeActing(tx, by, n, at)
		return err
	}}, nil
}

// Guard lets whatever is written under the context be judged in its own transaction, and told in their name.
func (a Acting) Guard(ctx context.Context) context.Context {
	return audit.With(sqldb.Guard(ctx, a.holds), audit.Source{Authority: a.by.Authority, Actor: a.Actor})
}

func judgeActing(tx *sqldb.Tx, by scope.By, n Need, at Place) (j judgement, err error) {
	staffed := by.Authority == scope.StaffAuth
	switch {
	case by.Channel() != "" && n.kind == inside:
		return judgeChannel(tx, n, at)
	case by.Account == "" || !staffed && by.Authority != scope.Customer:
		return j, nobodyAsked()
	case n.kind != inside:
		return j, errNoNeed
	case by.Key != "":
		b, err := apikey.BearerByID(tx, time.Now(), by.Key)
		if err != nil {
			return j, err
		}
		if b.Account.ID != by.Account {
			return j, nobodyAsked()
		}
		return judgeBearer(tx, b, staffed, n, at)
	}
	var found bool
	if j.Account, found, err = account.Find(tx, by.Account); err != nil {
		return j, err
	}
	if !found || !j.Account.Alive() {
		return j, nobodyAsked()
	}
	switch {
	case !staffed:
		err = seat(tx, n, at, &j)
	case !staffMay(j.Account.Role, n.right):
		err = readsOnly()
	default:
		j.Staff = j.Account.Role
		err = place(tx, at, &j)
	}
	return j, err
}

// judgeChannel lets a channel do what a builder may, in the workspace that its deliveries come to. In one that is archived, or
// whose owner is gone, nobody is there for whom it could.
func judgeChannel(tx *sqldb.Tx, n Need, at Place) (j judgement, err error) {
	if at.Scope == scope.Admin {
		return j, NoWorkspace()
	}
	if err := place(tx, at, &j); err != nil {
		return j, err
	}
	owner, found, err := account.Find(tx, j.Member.Owner)
	if err != nil {
		return j, err
	}
	if !found || !owner.Alive() || j.Member.Archived {
		return j, nobodyAsked()
	}
	j.Member.Role = workspace.Builder
	return j, allow(n, j.Member)
}

// nobodyAsked is the refusal of work that neither a person nor a channel of ours stands behind any more, or ever did.
func nobodyAsked() error {
	return fault.New(fault.Forbidden, "Nobody who may do this has asked for it.", "")
}
