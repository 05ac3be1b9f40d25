package site

import (
	"context"
	"slices"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/page"
)

// people are the pages of a person's own account.
var people = []Row{
	shows(page.ProfilePath, access.SignedIn, profile),
	takes(page.ProfilePath, "changeAccount", profile, leads(page.ProfilePath, page.NoticeProfileSaved), "version"),
	takes(page.EmailPath, "changeEmail", profile, leads(page.ProfilePath, page.NoticeEmailChangeSent)),
	takes(page.VerificationPath, "sendVerification", profile, leads(page.ProfilePath, page.NoticeVerificationSent)),
	shows(page.SecurityPath, access.SignedIn, security),
	takes(page.ChangePasswordPath, "changePassword", security, leads(page.SecurityPath, page.NoticePasswordChanged)),
	takes(page.SetPasswordPath, "setPassword", security, leads(page.SecurityPath, page.NoticePasswordSet)),
	shows(page.ConnectionsPath, access.SignedIn, connections),
	takes(page.UnlinkPath, "unlinkIdentity", connections, leads(page.ConnectionsPath, page.NoticeUnlinked)),
	shows(page.SessionsPath, access.SignedIn, sessions),
	takes(page.EndSessionPath, "endSession", nil, sessionEnded),
	takes(page.EndSessionsPath, "endOtherSessions", nil, leads(page.SessionsPath, page.NoticeSessionsEnded)),
	shows(page.DangerPath, access.SignedIn, danger),
	takes(page.DangerPath, "deleteAccount", danger, func(_ context.Context, v *Visit, out any) (Next, error) {
		return Next{Page: page.Deleting{EraseAt: out.(operation.Deleting).EraseAt.Time, MailOff: v.MailOff}}, nil
	}, "confirm"),
	enters(page.ReauthPath, access.SignedIn, reauth),
	takes(page.ReauthPath, "reauth", reauth, goesOn(page.ProfilePath), "returnTo"),
}

// desk is what the pages of a signed-in person share.
func (v *Visit) desk(form page.Form) page.Desk {
	if form.Notice == "" && form.Error == "" {
		form.Notice = v.notice()
	}
	p := v.Account
	person := page.Person{
		Username: p.Username, DisplayName: p.DisplayName, Email: p.Email, EmailVerified: p.EmailVerified,
		Staff: p.Role != account.RoleNone, Stale: v.Accounts.Sessions.NeedFresh(v.Who) != nil, MailOff: !v.Accounts.CanMail(), Printed: v.MailOff && v.Accounts.CanMail(),
	}
	for _, w := range p.Warnings() {
		person.Warnings = append(person.Warnings, page.Warning{Type: w.Type, Message: w.Message})
	}
	return page.Desk{Form: form, Person: person}
}

// can reports whether somebody can prove by a method that they are themselves.
func (v *Visit) can(method string) bool { return slices.Contains(v.Account.Methods, method) }

func profile(_ context.Context, v *Visit, form page.Form) (page.View, error) {
	view := page.Profile{Desk: v.desk(form), DisplayName: v.Account.DisplayName, Version: v.Account.Version, NewEmail: v.typed("email")}
	if v.sent("displayName") {
		view.DisplayName = v.typed("displayName")
	}
	return view, nil
}

func security(_ context.Context, v *Visit, form page.Form) (page.View, error) {
	return page.Security{Desk: v.desk(form), HasPassword: v.can("password")}, nil
}

func connections(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	view := page.Connections{Desk: v.desk(form), GitHub: v.github(ctx)}
	all, err := v.Accounts.Identities.List(ctx, v.Who)
	last := len(all) == 1 && (!v.can("password") || !v.Account.EmailVerified)
	for _, i := range all {
		shown := identity(i, false)
		shown.Last = last
		view.Items = append(view.Items, shown)
	}
	return view, err
}

func sessions(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	all, err := v.Accounts.Sessions.List(ctx, v.Who)
	view := page.Sessions{Desk: v.desk(form)}
	for _, s := range all {
		view.Items = append(view.Items, page.Session{
			ID: s.ID, IP: s.IP, UserAgent: s.UserAgent, Surface: s.Surface, CreatedAt: s.CreatedAt, LastSeenAt: s.LastSeenAt, Current: s.ID == v.Session.ID,
		})
	}
	return view, err
}

func sessionEnded(_ context.Context, v *Visit, _ any) (Next, error) {
	if v.Params["id"] == v.Session.ID {
		return Next{To: page.SignInPath, Notice: page.NoticeSignedOut}, nil
	}
	return Next{To: page.SessionsPath, Notice: page.NoticeSessionEnded}, nil
}

func danger(_ context.Context, v *Visit, form page.Form) (page.View, error) {
	return page.Danger{Desk: v.desk(form), Confirm: v.typed("confirm"), Hold: v.Accounts.Held()}, nil
}

func reauth(_ context.Context, v *Visit, form page.Form) (page.View, error) {
	return page.Reauth{Desk: v.desk(form), Password: v.can("password"), GitHub: v.can("github")}, nil
}
