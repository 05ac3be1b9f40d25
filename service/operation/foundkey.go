package operation

import (
	"context"

	"svc.dev/svc/service/access"
)

// found are keys that somebody has found.
var found = about("key", access.Platform,
	start("/api/keys/revoke", access.Public, revokeFoundKey).on(EverySurface...).admit(admitRevoke).anywhere().
		says("End an API key that was found. Whoever holds it may end it; the answer does not tell whether it was one.", rateLimited),
)

type foundKey struct {
	Body struct {
		Key string `json:"key"`
	}
}

// accepted is all that is said of what comes.
type accepted struct {
	Status string `json:"status" enum:"accepted"`
}

func admitRevoke(ctx context.Context, c Call) error { return c.Accounts.AdmitRevoke(ctx) }

// revokeFoundKey ends a key. Possession is authority, and the answer tells nothing.
func revokeFoundKey(ctx context.Context, c Call, in foundKey) (accepted, error) {
	return accepted{"accepted"}, c.Accounts.RevokeFound(ctx, in.Body.Key)
}
