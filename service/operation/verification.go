package operation

import (
	"cmp"
	"context"
	"slices"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// adminRoot is where the files of the staff's own workspace are.
const adminRoot = "root-sandbox/admin/"

// verifications run a read-only workflow through gateway and runtime, and report whom both accepted.
var verifications = []Row{
	get("/api/orchestration/workspace-verification", access.SignedIn, verifyWorkspace).on(access.Agents).
		says("Verify a workspace. It runs a read-only workflow through gateway and runtime, reads no file and changes nothing.",
			fault.Forbidden, fault.WorkspaceSuspended, fault.WorkspaceNotFound, fault.BadGateway, fault.RuntimeTimeout),
	get("/api/orchestration/admin-verification", access.Staff, verifyAdmin).on(access.Admin).as("staff").
		says("Verify the workspace of the staff, by their authority.", fault.BadGateway, fault.RuntimeTimeout),
	get(Own, access.May(workspace.Enter), getOwn).on(access.Admin).as("staff").says("Read the workspace of the staff."),
}

// verification is whom the runtime accepted, and what it did.
type verification struct {
	OK        bool           `json:"ok"`
	Surface   access.Surface `json:"surface" enum:"agents admin"`
	Authority string         `json:"authority" enum:"customer admin"`
	Account   struct {
		ID       string `json:"id" id:"acc"`
		Username string `json:"username"`
	} `json:"account"`
	Actor struct {
		Username string `json:"username"`
	} `json:"actor"`
	Scope     string        `json:"scope"`
	Workflow  string        `json:"workflow" enum:"workspace-verification"`
	RunID     string        `json:"runId"`
	Checks    []scope.Check `json:"checks"`
	FilesRead int           `json:"filesRead"`
	Mutated   bool          `json:"mutated"`
	CheckedAt iso.Moment    `json:"checkedAt"`
	Root      string        `json:"root,omitempty"`
}

type ofBusiness struct {
	Business string `query:"business"` // empty: the person's own
}

func verifyWorkspace(_ context.Context, c Call, in ofBusiness) (shown verification, err error) {
	if err := c.Verifying(c.Account.ID); err != nil {
		return shown, err
	}
	ctx, v, err := c.Enter(access.May(workspace.Read), c.Account.Username+"/"+cmp.Or(in.Business, scope.Personal))
	if err != nil {
		return shown, err
	}
	c.Visitor = v
	return c.verify(ctx)
}

func verifyAdmin(ctx context.Context, c Call, _ struct{}) (shown verification, err error) {
	if err := c.Verifying(c.Account.ID); err != nil {
		return shown, err
	}
	return c.verify(ctx)
}

// verify asks the runtime whom it accepted. A HEAD runs nothing.
func (c Call) verify(ctx context.Context) (shown verification, err error) {
	if c.Head {
		return shown, nil
	}
	var answer engine.Verified
	if err := c.Ask(ctx, Question{Path: engine.VerificationPath}, &answer); err != nil {
		return shown, err
	}
	got, done, want := answer.Accepted, answer.Result, c.Claims(c.ID)
	failed := slices.ContainsFunc(answer.Checks, func(check scope.Check) bool { return !check.OK })
	shown = verification{
		OK: !failed && got.Scope == want.Scope && got.Account == want.Account && got.Actor == want.Actor, Surface: c.Surface, Authority: got.Authority,
		Scope: got.Scope, Workflow: "workspace-verification", RunID: answer.RunID, Checks: answer.Checks,
		FilesRead: done.FilesRead, Mutated: done.Mutated, CheckedAt: done.CheckedAt,
	}
	shown.Account.ID, shown.Account.Username, shown.Actor.Username = got.AccountID, got.Account, got.Actor
	if want.Authority == scope.StaffAuth {
		shown.Root = adminRoot
	}
	return shown, nil
}

// ownWorkspace is that of the staff themselves.
type ownWorkspace struct {
	Scope string `json:"scope" enum:"admin"`
	Name  string `json:"name"`
	Role  string `json:"role" enum:"support admin"`
	Root  string `json:"root"` // where its files are
}

func getOwn(_ context.Context, c Call, _ struct{}) (ownWorkspace, error) {
	return ownWorkspace{scope.Admin, "Staff", c.Staff, adminRoot}, nil
}
