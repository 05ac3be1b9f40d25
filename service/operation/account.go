package operation

import (
	"context"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/secret"
)

const accountPath = "/api/account"

// accounts are what people do with their own account.
var accounts = about("account", access.Platform,
	get(accountPath, access.SignedIn, getAccount).says("Read one's account."),
	change(accountPath, access.SignedIn, changeAccount).says("Change one's account."),
	row("DELETE", accountPath, begins, access.SignedIn, deleteAccount).cookie(forgetSession).says("Delete one's account, with the time to bring it back.", fault.InvalidRequest, account.ReauthRequired, fault.Forbidden, fault.LastOwner),
	start(accountPath+"/email", access.SignedIn, changeEmail).says("Ask for another address.", account.ReauthRequired, fault.Forbidden, account.MailNotConfigured),
	list(accountPath+"/identities", access.SignedIn, listIdentities).says("List the ways in that others vouch for."),
	drop(accountPath+"/identities/{id}", access.SignedIn, unlinkIdentity).says("Take such a way in away.", fault.ItemNotFound, account.ReauthRequired, account.LastCredential, secret.Unreadable),
	list(accountPath+"/sessions", access.SignedIn, listSessions).says("List where one is signed in."),
	drop(accountPath+"/sessions/{id}", access.SignedIn, endSession).cookie(forgetSession).says("End a session.", fault.ItemNotFound),
	verb(accountPath+"/sessions/revoke-others", access.SignedIn, endOtherSessions).says("End all sessions but this one.", account.ReauthRequired),
)

// record is a person's own account, with what an editor needs.
type record struct {
	account.Profile
	Version   int64      `json:"version"`
	CreatedAt iso.Moment `json:"createdAt"`
}

func recordOf(p account.Account) record { return record{p.Profile(), p.Version, iso.At(p.CreatedAt)} }

func getAccount(_ context.Context, c Call, _ struct{}) (record, error) {
	return recordOf(c.Account), nil
}

type accountChange struct {
	Match Match
	Body  struct {
		DisplayName *string `json:"displayName,omitzero" max:"80" null:"none"`
	}
}

func changeAccount(ctx context.Context, c Call, in accountChange) (record, error) {
	name := c.Account.DisplayName
	if in.Body.DisplayName != nil {
		name = *in.Body.DisplayName
	}
	p, err := c.Accounts.Rename(ctx, c.Who, name, int64(in.Match))
	return recordOf(p), err
}

func deleteAccount(ctx context.Context, c Call, in deletion) (Deleting, error) {
	at, err := c.Accounts.Delete(ctx, c.Who, in.Confirm)
	if err == nil {
		c.Browser.Forget()
	}
	return Deleting{"deleting", iso.At(at)}, err
}

type newEmail struct {
	Body struct {
		Email string `json:"email" max:"254"`
	}
}

// verificationSent is what is said of a mail.
type verificationSent struct {
	Status string `json:"status" enum:"verification_sent"`
}

func changeEmail(ctx context.Context, c Call, in newEmail) (verificationSent, error) {
	return verificationSent{"verification_sent"}, c.Accounts.Emails.Change(ctx, c.Who, in.Body.Email)
}

func listIdentities(ctx context.Context, c Call, _ struct{}) (listing.Page[account.Identity], error) {
	all, err := c.Accounts.Identities.List(ctx, c.Who)
	return listing.Page[account.Identity]{Items: all}, err
}

func unlinkIdentity(ctx context.Context, c Call, in itemID) error {
	return c.Accounts.Identities.Unlink(ctx, c.Who, in.ID)
}

// device is one place where a person is signed in.
type device struct {
	ID         string     `json:"id" id:"ses"`
	CreatedAt  iso.Moment `json:"createdAt"`
	LastSeenAt iso.Moment `json:"lastSeenAt"`
	IP         string     `json:"ip"`
	UserAgent  string     `json:"userAgent"`
	Surface    string     `json:"surface"`
	Current    bool       `json:"current"` // the one that asks
}

func listSessions(ctx context.Context, c Call, _ struct{}) (listing.Page[device], error) {
	all, err := c.Accounts.Sessions.List(ctx, c.Who)
	return listing.Page[device]{Items: c.devices(all)}, err
}

// devices are sessions as people know them.
func (c Call) devices(all []account.Session) []device {
	devices := make([]device, 0, len(all))
	for _, s := range all {
		devices = append(devices, device{s.ID, iso.At(s.CreatedAt), iso.At(s.LastSeenAt), s.IP, s.UserAgent, s.Surface, s.ID == c.Session.ID})
	}
	return devices
}

func endSession(ctx context.Context, c Call, in itemID) error {
	err := c.Accounts.Sessions.End(ctx, c.Who, in.ID)
	if err == nil && in.ID == c.Session.ID {
		c.Browser.Forget()
	}
	return err
}

func endOtherSessions(ctx context.Context, c Call, _ struct{}) (revoked, error) {
	n, err := c.Accounts.Sessions.EndOthers(ctx, c.Who)
	return revoked{n}, err
}
