package page

import (
	"cmp"
	"slices"
	"time"
)

// Profile is the page at ProfilePath. It has a form for displayName with version, one for email at EmailPath, and one
// without fields at VerificationPath.
type Profile struct {
	Desk
	DisplayName string
	Version     int64  // of the account, for If-Match
	NewEmail    string // as typed
}

func (p Profile) sheet() sheet {
	fields := []string{"displayName"}
	if !p.Person.Stale && !p.Person.MailOff {
		fields = append(fields, "email")
	}
	return sheet{name: "profile", title: "Profile", shell: desk, here: ProfilePath, fields: fields}
}

// Security is the page at SecurityPath. It has a form at ChangePasswordPath for whoever has a password, else one at
// SetPasswordPath.
type Security struct {
	Desk
	HasPassword bool
}

func (s Security) sheet() sheet {
	var fields []string
	switch {
	case s.HasPassword:
		fields = []string{"currentPassword", "newPassword"}
	case s.Settable():
		fields = []string{"newPassword"}
	}
	return sheet{name: "security", title: "Password", shell: desk, aid: true, here: SecurityPath, fields: fields}
}

// Settable reports whether a first password can be set now: it needs a verified address and a fresh proof.
func (s Security) Settable() bool { return s.Person.EmailVerified && !s.Person.Stale }

// Connections is the page at ConnectionsPath. It has a form at UnlinkPath for each identity.
type Connections struct {
	Desk
	Items  []Identity
	GitHub Provider
}

// Identity is a way to sign in through somebody else.
type Identity struct {
	ID, Provider, Login string
	Issuer              string // host of the provider
	LinkedAt            time.Time
	// Last is true when it is the last way in, and cannot be removed.
	Last bool
	// Ticked is true when its box on the reset page is.
	Ticked bool
}

func (Connections) sheet() sheet {
	return sheet{name: "connections", title: "Connections", shell: desk, here: ConnectionsPath}
}

// Sessions is the page at SessionsPath. It has a form at EndSessionPath for each session and one at EndSessionsPath.
type Sessions struct {
	Desk
	Items []Session
}

// Session is a place where somebody is signed in.
type Session struct {
	ID, IP, UserAgent, Surface string
	CreatedAt, LastSeenAt      time.Time
	Current                    bool
}

func (Sessions) sheet() sheet {
	return sheet{name: "sessions", title: "Sessions", shell: desk, here: SessionsPath}
}

// Others reports whether there is a session beside this one.
func (s Sessions) Others() bool {
	return slices.ContainsFunc(s.Items, func(each Session) bool { return !each.Current })
}

// Danger is the page at DangerPath. Its form posts confirm.
type Danger struct {
	Desk
	Confirm string // as typed
	// Hold is how long a deleted account can be restored. Defaults to 14 days.
	Hold time.Duration
}

func (d Danger) sheet() sheet {
	return sheet{name: "danger", title: "Danger zone", shell: desk, here: DangerPath, fields: d.unlessStale("confirm")}
}

// HoldFor is the hold in words.
func (d Danger) HoldFor() string { return span(cmp.Or(d.Hold, 14*24*time.Hour)) }

// Deleting says that an account is gone, and until when it can be had back.
type Deleting struct {
	EraseAt time.Time
	MailOff bool
}

func (Deleting) sheet() sheet {
	return sheet{name: "deleting", title: "Your account is being deleted", shell: slip}
}

// Workspaces is the page at WorkspacesPath.
type Workspaces struct {
	Desk
	Items []Workspace
	// Deleted are those that the person can bring back.
	Deleted []Workspace
}

// Workspace is a place to work in.
type Workspace struct {
	Username, Business, Name, Role string
	Archived, Suspended            bool
	// Open is the address where one works in it, and Configure that where it is set up; empty: there is no web application.
	Open, Configure string
	// EraseAt is when a deleted one is gone for good.
	EraseAt time.Time
}

// Title is what the workspace is called.
func (w Workspace) Title() string { return cmp.Or(w.Name, w.Business) }

// Address names the workspace among all.
func (w Workspace) Address() string { return w.Username + "/" + w.Business }

func (Workspaces) sheet() sheet {
	return sheet{name: "workspaces", title: "Workspaces", shell: desk, here: WorkspacesPath}
}

// NewWorkspace is the page at NewPath. Its form posts business and title.
type NewWorkspace struct {
	Desk
	Business, Title string
}

func (NewWorkspace) sheet() sheet {
	return sheet{name: "workspace_new", title: "New workspace", shell: desk, here: WorkspacesPath, fields: []string{"business", "title"}}
}
