package account

import (
	"encoding/json"
	"errors"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/secret"
)

// grant is what a person's consent is worth, as it is sealed. It prints as nothing.
type grant struct {
	Client string // the app that it was given to
	github.Tokens
}

func ofAccount(id string) secret.Owner { return secret.Owner{Kind: secret.Account, Scope: id} }

func grantName(identity string) string { return "identity/" + identity }

func (a *Accounts) keepGrant(tx *sqldb.Tx, account, identity string, g grant) error {
	value, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("keep tokens: %w", err)
	}
	defer clear(value)
	_, err = a.Secrets.Seal(tx, ofAccount(account), grantName(identity), value, account)
	return err
}

// openGrant finds none where there is none.
func (a *Accounts) openGrant(tx *sqldb.Tx, account, identity string) (g grant, found bool, err error) {
	value, err := a.Secrets.OpenIn(tx, ofAccount(account), grantName(identity))
	if errors.Is(err, secret.ErrNotFound) {
		return g, false, nil
	}
	if err != nil {
		return g, false, err
	}
	defer clear(value)
	if err := json.Unmarshal(value, &g); err != nil {
		return grant{}, false, errors.New("read tokens: not what was sealed") // the cause would quote them
	}
	return g, true, nil
}
