package operation

import (
	"context"
	"net/http"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
)

// setups is how the first administrator comes to be.
var setups = about("service", access.Platform,
	verb("/api/setup", access.Public, setUp).cookie(setSession).answers(http.StatusCreated, registered{}).answers(http.StatusNoContent, nil).
		says("Become the first administrator, by the token that is printed at the start of the service. With an address and a password it makes an account, alone it raises whoever is signed in.",
			account.InvalidToken, fault.AmbiguousSession, account.Unauthenticated, account.InvalidCredentials, account.UsernameTaken, account.SetupClosed, fault.RateLimited, fault.Busy),
)

type newSetup struct {
	Body struct {
		Token    string `json:"token"`
		Email    string `json:"email,omitzero"`
		Password string `json:"password,omitzero" text:"any" min:"12" max:"256"`
		Username string `json:"username,omitzero" min:"2" max:"39"`
	}
}

// setUp makes the first administrator: somebody new, or whoever is signed in.
func setUp(ctx context.Context, c Call, in newSetup) (outcome, error) {
	b := in.Body
	if b.Email != "" || b.Password != "" || b.Username != "" {
		return c.welcome(c.Accounts.Staff.Setup(ctx, b.Token, account.Registration{Email: b.Email, Password: b.Password, Username: b.Username}))
	}
	who, ctx, err := c.Browser.Session()
	if err != nil {
		return outcome{}, err
	}
	if who == nil {
		return outcome{}, access.Unauthenticated()
	}
	return outcome{Status: http.StatusNoContent}, c.Accounts.Staff.SetupExisting(ctx, b.Token, *who)
}
