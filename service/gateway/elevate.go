package gateway

import (
	"net/http"
	"slices"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/page"
)

// raise gives the browser the two values of an elevated session.
func (x *exchange) raise(password string) error {
	up, err := x.g.Accounts.Elevate(x.ctx(), *x.who, password)
	if err == nil {
		browser{x}.Raise(up)
	}
	return err
}

func (x *exchange) elevateView(form page.Form) page.View {
	methods := x.who.Account.Methods
	return page.Reauth{
		Desk: x.desk(form), Password: slices.Contains(methods, "password"), GitHub: slices.Contains(methods, "github"),
		Elevate: true, Fresh: x.g.Accounts.NeedFresh(*x.who) == nil,
	}
}

// elevatePage asks staff who they are before Admin opens.
func (x *exchange) elevatePage() error {
	if !x.who.Account.IsStaff() {
		return fault.New(adminRequired, "Only staff may do this.", "")
	}
	form, err := x.entryForm()
	if err != nil {
		return err
	}
	if form.ReturnTo == "" {
		form.ReturnTo = page.ProvidersPath
	}
	return x.show(http.StatusOK, x.elevateView(form))
}

func (x *exchange) elevateForm() error {
	var f struct {
		Password string `json:"password" text:"any"`
		ReturnTo string `json:"returnTo"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	if f.ReturnTo == "" {
		f.ReturnTo = page.ProvidersPath
	}
	to, err := x.g.returnTo(f.ReturnTo)
	if err != nil {
		return err
	}
	err = x.raise(f.Password)
	if fault.Is(err, account.ReauthRequired) {
		form := page.Form{ReturnTo: f.ReturnTo, Error: fault.From(err).Message}
		return x.show(http.StatusForbidden, x.elevateView(form))
	}
	if err != nil {
		return x.again(err, func(form page.Form) page.View {
			form.ReturnTo = f.ReturnTo
			return x.elevateView(form)
		})
	}
	return x.see(http.StatusSeeOther, to)
}
