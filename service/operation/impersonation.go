package operation

import (
	"context"
	"net/http"
	"net/url"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
)

const viewPath = "/api/auth/view"

// impersonations are how staff look at the service as a customer.
var impersonations = append(about("staff", access.Admin,
	create("/api/admin/impersonations", access.Staff, impersonate).secret().
		says("Begin to look at the service as a customer, for a reason that the customer reads. It lasts an hour at most, only reads, and never secrets, keys, sessions or bills.",
			fault.ItemNotFound, account.Suspended, account.ImpersonationForbidden, fault.Forbidden),
	drop("/api/admin/impersonations/{id}", access.Staff, endView).says("End an impersonation: one's own, and for administrators anybody's.", fault.ItemNotFound),
),
	get(viewPath, access.SignedIn, openView).on(access.Agents).leads(http.StatusSeeOther).cookie(setView).as("staff").
		says("Look at the service as a customer. The address works once, for 60 seconds, in the browser that asked for it.", account.InvalidToken, account.Suspended, fault.AdminRequired, account.ImpersonationForbidden, fault.ItemNotFound),
)

type newImpersonation struct {
	Body struct {
		AccountID string `json:"accountId" id:"acc"`
		Reason    string `json:"reason" min:"10" max:"500"`
	}
}

// impersonation is where the staff's own browser finds it.
type impersonation struct {
	ID        string     `json:"id" id:"imp"`
	URL       string     `json:"url"`
	ExpiresAt iso.Moment `json:"expiresAt"`
}

func impersonate(ctx context.Context, c Call, in newImpersonation) (impersonation, error) {
	i, err := c.Accounts.Views.Impersonate(ctx, c.Who, in.Body.AccountID, in.Body.Reason)
	return impersonation{i.ID, c.Address(access.Agents) + viewPath + "?" + url.Values{"ticket": {i.Ticket}}.Encode(), iso.At(i.ExpiresAt)}, err
}

func endView(ctx context.Context, c Call, in itemID) error {
	return c.Accounts.Views.End(ctx, c.Who, in.ID)
}

type viewTicket struct {
	Ticket string `query:"ticket"`
}

// openView uses the ticket of an impersonation. Whoever looks as one customer may go on to another.
func openView(ctx context.Context, c Call, in viewTicket) (Onward, error) {
	value, life, err := c.Accounts.Views.Open(ctx, c.Self(), in.Ticket)
	if err == nil {
		c.Browser.Look(value, life)
	}
	return Onward{To: c.Address(access.Agents) + "/"}, err
}
