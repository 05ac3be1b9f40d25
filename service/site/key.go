package site

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// keys are the page of the API keys of a workspace that one manages, and its forms.
var keys = []Row{
	shows(page.KeysPath, access.SignedIn, listKeys),
	takes(page.KeysPath, "createKey", listKeys, keyMade, "workspace"),
	takes(page.RotateKeyPath, "rotateKey", nil, keyMade, "workspace"),
	takes(page.RevokeKeyPath, "revokeKey", nil, keyRevoked, "workspace"),
}

func listKeys(_ context.Context, v *Visit, form page.Form) (page.View, error) {
	address := v.Query.Get("workspace")
	if v.sent("workspace") {
		address = v.typed("workspace")
	}
	ctx, visitor, err := v.Enter(access.May(workspace.Manage), address)
	if err != nil {
		return nil, err
	}
	v.Visitor = visitor
	view := page.Keys{Desk: v.desk(form), Workspace: shown(v.Member), Name: v.typed("name"), Scopes: v.ticked("scopes"), ExpiresAt: v.typed("expiresAt")}
	if view.Others, err = v.keepsAlso(ctx); err != nil {
		return nil, err
	}
	all, err := v.Keys.List(ctx, apikey.Query{Workspace: v.Member.ID, Query: listing.Query{Limit: listing.MaxLimit}})
	for _, k := range all.Items {
		view.Items = append(view.Items, page.Key{
			ID: k.ID, Name: k.Name, Prefix: k.Prefix, Last4: k.Last4, Scopes: k.Scopes, CreatedAt: k.CreatedAt.Time,
			ExpiresAt: earlier(k.ExpiresAt.Time, k.RevokedAt.Time), LastUsedAt: k.LastUsedAt.Time, Staff: k.Staff, Over: over[k.State], Device: deviceOf(k),
		})
	}
	return view, err
}

// deviceOf is who approved a key for a device; empty: it is for no device.
func deviceOf(k apikey.Key) string {
	if k.Kind != apikey.Device {
		return ""
	}
	return k.Maker
}

// over is why a key does not work that has time left.
var over = map[string]string{apikey.Orphaned: "does not work: its maker has left", apikey.Suspended: "does not work: its maker is suspended"}

// keepsAlso are the other workspaces whose keys a person may make.
func (v *Visit) keepsAlso(ctx context.Context) (others []page.Workspace, err error) {
	all, err := v.Accounts.Workspaces(ctx, v.Account.ID)
	for _, other := range all {
		if other.ID != v.Member.ID && (other.Role == workspace.Owner || other.Role == workspace.Admin) {
			others = append(others, shown(other))
		}
	}
	return others, err
}

// earlier is the earlier of two times, of which the zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// keyMade shows a key for the only time.
func keyMade(_ context.Context, v *Visit, out any) (Next, error) {
	k := out.(operation.KeyMade)
	view := page.KeyShown{
		Desk: v.desk(page.Form{}), Name: k.Name, Key: k.Value, ExpiresAt: k.ExpiresAt.Time, Workspace: strings.TrimPrefix(k.Scope, "users/"), Scopes: k.Scopes,
		Agents: v.Address(access.Agents),
	}
	if grace, err := strconv.Atoi(v.typed("graceSeconds")); err == nil {
		view.OldEndsAt = k.CreatedAt.Add(time.Duration(grace) * time.Second)
	}
	return Next{Page: view, Status: http.StatusCreated}, nil
}

func keyRevoked(_ context.Context, v *Visit, _ any) (Next, error) {
	to := page.KeysPath
	if v.Member.Business != scope.Personal {
		to += "?workspace=" + url.QueryEscape(v.typed("workspace"))
	}
	return Next{To: to, Notice: page.NoticeKeyRevoked}, nil
}
