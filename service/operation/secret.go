package operation

import (
	"context"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/workspace"
)

// maxSecretBody holds the longest value in JSON, every character of it escaped.
const maxSecretBody = 6*secret.MaxBytes + 1<<10

// secrets are those of a workspace, without their values.
var secrets = everywhere("workspace",
	list(W+"/secrets", access.May(workspace.Review), listSecrets).says("List the secrets of a workspace."),
	get(W+"/secrets/{secret}", access.May(workspace.Review), getSecret).says("Read what is known of a secret.", fault.ItemNotFound),
	row("PUT", W+"/secrets/{secret}", keeps, access.May(workspace.Manage), putSecret).most(maxSecretBody).says("Keep a value. Taking the place of another needs a fresh proof of identity.", secret.TooLarge),
	drop(W+"/secrets/{secret}", access.May(workspace.Manage).Fresh(), deleteSecret).says("Destroy a value.", fault.ItemNotFound),
)

// secretItem is what is known of a secret, and what uses it: below the workspace's address.
type secretItem struct {
	secret.Entry
	UsedBy []string `json:"usedBy"`
}

func secretOf(e secret.Entry) secretItem { return secretItem{e, models.Users(e.Name)} }

func listSecrets(ctx context.Context, c Call, in page) (shown listing.Page[secretItem], err error) {
	var after string
	if err := in.After(&after); err != nil {
		return shown, err
	}
	all, err := c.Vault.List(ctx, c.Scope)
	all = slices.DeleteFunc(all, func(e secret.Entry) bool {
		return e.Name <= after || !strings.Contains(e.Name, strings.ToUpper(in.Q)) // names have no lower case
	})
	slices.SortFunc(all, func(a, b secret.Entry) int { return strings.Compare(a.Name, b.Name) }) // as After compares, whatever the database does
	return listing.Map(listing.Cut(all, in.Size(), func(e secret.Entry) []any { return []any{e.Name} }), secretOf), err
}

type secretName struct {
	Name string `path:"secret"`
}

func getSecret(ctx context.Context, c Call, in secretName) (secretItem, error) {
	e, err := c.Vault.Find(ctx, c.Scope, in.Name)
	return secretOf(e), err
}

type secretValue struct {
	Name  string `path:"secret"`
	Match Match
	Body  struct {
		Value string `json:"value" text:"any"`
	}
}

// putSecret keeps a value. Somebody who has proven nothing lately only adds: that there is none yet is judged where it is written.
func putSecret(ctx context.Context, c Call, in secretValue) (secretItem, error) {
	version, stale := in.Match.pointer(), c.Accounts.Sessions.NeedFresh(c.Self())
	if stale != nil {
		if version != nil {
			return secretItem{}, stale
		}
		version = new(int64)
	}
	e, err := c.Vault.Put(ctx, c.Scope, c.Caller().Actor, in.Name, in.Body.Value, version)
	if stale != nil && fault.Is(err, fault.VersionConflict) {
		return secretItem{}, stale
	}
	return secretOf(e), err
}

type secretRemoval struct {
	Name  string `path:"secret"`
	Match Match
}

func deleteSecret(ctx context.Context, c Call, in secretRemoval) error {
	return c.Vault.Delete(ctx, c.Scope, c.Caller().Actor, in.Name, in.Match.pointer())
}
