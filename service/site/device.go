package site

import (
	"context"
	"net/url"
	"slices"
	"time"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/device"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/workspace"
)

// proven is somebody signed in who has just shown who they are: what a device gets is a key of theirs.
var proven = access.SignedIn.Fresh()

// devices are the page on which a person answers a program that asks for a key. To open it decides nothing.
var devices = []Row{
	shows(page.DevicePath, proven, pair),
	does(page.DevicePath, proven, pairAgain, answerDevice),
}

// The decisions on a program that asks for a key; an empty one is none yet.
const (
	approve = "approve"
	deny    = "deny"
)

// deviceForm is the form of the page.
type deviceForm struct {
	Code      string   `json:"user_code"`
	Workspace string   `json:"workspace,omitzero"`
	Scopes    []string `json:"scopes,omitzero"`
	Days      int64    `json:"days,omitzero"`
	Decision  string   `json:"decision,omitzero"`
}

// pair asks for the code that a program shows, and for the workspace that it is to work in.
func pair(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	code := v.Query.Get("user_code")
	if v.sent("user_code") {
		code = v.typed("user_code")
	}
	view := page.Pair{Desk: v.desk(form), Code: code, Workspace: v.typed("workspace")}
	all, err := v.Accounts.Workspaces(ctx, v.Account.ID)
	for _, m := range all {
		if !m.Suspended && len(within(m.Role)) > 0 {
			view.Workspaces = append(view.Workspaces, shown(m))
		}
	}
	return view, err
}

// within are the scopes that a key of somebody with that role can have.
func within(role string) []string {
	return slices.DeleteFunc(slices.Clone(apikey.Scopes), func(scope string) bool { return !workspace.RoleAllowsKeyScope(role, scope) })
}

// usual are the scopes that a command line needs to talk to agents and to follow runs.
var usual = []string{"agents:read", "agents:write", "workflows:run", "runs:read"}

// Kept is what the address of a page can hold of its form, as a query: a person who is led away to prove who they are comes back to it.
// It is the code of a program, if it can be one; nothing else that was typed enters an address.
func Kept(path string, form []byte) string {
	values, err := url.ParseQuery(string(form))
	code, ok := device.Normal(values.Get("user_code"))
	if path != page.DevicePath || err != nil || !ok {
		return ""
	}
	return "?" + url.Values{"user_code": {code}}.Encode()
}

// answerDevice shows who asks, and does what was decided.
func answerDevice(ctx context.Context, v *Visit) (Next, error) {
	var a deviceForm
	if err := v.fill(&a); err != nil {
		return Next{}, err
	}
	switch a.Decision {
	case "":
		a.Scopes = usual
		view, err := asks(ctx, v, a, page.Form{})
		return Next{Page: view}, err
	case deny:
		return Next{To: page.DevicePath, Notice: page.NoticeDeviceDenied}, v.Devices.Deny(ctx, v.Who, a.Code)
	case approve:
		entered, visitor, err := v.Enter(access.May(workspace.Enter).Fresh(), a.Workspace)
		if err != nil {
			return Next{}, err
		}
		given := device.Approval{UserCode: a.Code, Scopes: a.Scopes, Life: time.Duration(min(a.Days, 1000)) * 24 * time.Hour}
		return Next{To: page.DevicePath, Notice: page.NoticeDeviceApproved}, v.Devices.Approve(entered, visitor.Who, visitor.Member, given)
	}
	return Next{}, strictjson.Wrong("decision", strictjson.Invalid)
}

// asks is the page of a program that asks for a key.
func asks(ctx context.Context, v *Visit, a deviceForm, form page.Form) (page.View, error) {
	p, err := v.Devices.Look(ctx, v.Who, a.Code)
	if err != nil {
		return nil, err
	}
	_, visitor, err := v.Enter(access.May(workspace.Enter).Fresh(), a.Workspace)
	if err != nil {
		return nil, err
	}
	v.Visitor = visitor
	return page.Pairing{
		Desk: v.desk(form), Code: p.UserCode, Client: p.Client, IP: p.IP, AskedAt: p.AskedAt, ExpiresAt: p.ExpiresAt,
		Workspace: shown(v.Member), Allowed: within(v.Member.Role), Scopes: a.Scopes, Days: a.Days,
	}, nil
}

// pairAgain is the page of a refused answer: that of the program, where its code was right, and else the one that asks for a code. A code
// that was refused is not looked at again, for that would count.
func pairAgain(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	chosen := slices.ContainsFunc(form.Fields, func(f page.FieldError) bool { return f.Field == "scopes" || f.Field == "days" })
	if v.typed("decision") == approve && chosen {
		if view, err := asks(ctx, v, deviceForm{Code: v.typed("user_code"), Workspace: v.typed("workspace"), Scopes: v.ticked("scopes")}, form); err == nil {
			return view, nil
		}
	}
	return pair(ctx, v, form)
}
