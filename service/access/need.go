package access

import (
	"slices"
	"strings"

	"svc.dev/svc/service/workspace"
)

// Need is what an operation asks of its visitor. By the zero Need nobody is let in: that something is public has to be
// written down.
type Need struct {
	kind  kind
	right workspace.Right // of members, and of staff by their role
	scope string          // what a key must be made for, one of them where there are several; empty: no key may
	fresh bool            // the person proved who they are a short while ago

	suspended bool // also in a workspace that is suspended
	deleted   bool // also in one that is deleted, which only its room can tell from none
	project   bool // a role in the project of the path gives it too
	every     bool // a key must be made for all of the scopes
	keyless   bool // a key is told that none may, where it would else go unnoticed
	changes   bool // of staff: only those who may change something
}

type kind int

const (
	public   kind = iota + 1
	signedIn      // somebody, outside of workspaces
	inside        // a member of the workspace of the path, or staff on Admin
	staff         // with the authority over the whole service
)

// The needs of what belongs to no workspace.
var (
	Public   = Need{kind: public}
	SignedIn = Need{kind: signedIn}
	// Staff look at the whole service, StaffChange is for those of them who may change it.
	Staff       = Need{kind: staff}
	StaffChange = Need{kind: staff, changes: true}
)

// May is the need of a right in the workspace of the path.
func May(right workspace.Right) Need { return Need{kind: inside, right: right} }

// Key lets an API key in that was made for the scope.
func (n Need) Key(scope string) Need { n.scope = scope; return n }

// AnyKey lets an API key in that was made for one of the scopes: what is behind the door asks for each thing by itself.
func (n Need) AnyKey(scopes ...string) Need { n.scope = strings.Join(scopes, " "); return n }

// EveryKey lets an API key in that was made for all of the scopes: what is behind the door does any of these things, and asks no more.
func (n Need) EveryKey(scopes ...string) Need { n = n.AnyKey(scopes...); n.every = true; return n }

// among are those of the scopes that a key was made for by which it is let in.
func (n Need) among(scopes []string) []string {
	wanted := strings.Fields(n.scope)
	held := slices.DeleteFunc(slices.Clone(wanted), func(scope string) bool { return !workspace.KeyAllows(scopes, scope) })
	if n.every && len(held) < len(wanted) {
		return nil
	}
	return held
}

// Fresh asks the person to have proven their identity within the last minutes.
func (n Need) Fresh() Need { n.fresh = true; return n }

// Suspended lets members into a workspace that is suspended too.
func (n Need) Suspended() Need { n.suspended = true; return n }

// Deleted leaves it to the room, in the transaction of what it does, who may in a workspace that may be deleted.
func (n Need) Deleted() Need { n.deleted = true; return n }

// InProject is for what a role in the project of the path allows too.
func (n Need) InProject() Need { n.project = true; return n }

// Keyless tells a key that none may, outside of workspaces.
func (n Need) Keyless() Need { n.keyless = true; return n }

// LooksAtKeys reports whether an Authorization header is looked at.
func (n Need) LooksAtKeys() bool { return n.kind == inside || n.keyless }

// IsPublic reports whether everybody may.
func (n Need) IsPublic() bool { return n.kind == public }

// Elevated reports whether it takes the authority of the staff on a surface.
func (n Need) Elevated(on Surface) bool { return on == Admin && (n.kind == inside || n.kind == staff) }

// IsFresh reports whether the person must have proven who they are.
func (n Need) IsFresh() bool { return n.fresh }

// Changes reports whether staff must be allowed to change something.
func (n Need) Changes() bool { return n.changes }

// String is the need in a word: public, signed-in, staff, or the right in a workspace; empty: nobody is let in.
func (n Need) String() string {
	if n.kind == inside {
		return string(n.right)
	}
	return map[kind]string{public: "public", signedIn: "signed-in", staff: "staff"}[n.kind]
}

// Inside is the right that is needed in a workspace, if one is.
func (n Need) Inside() (right workspace.Right, is bool) { return n.right, n.kind == inside }

// Scope is what a key must be made for, or several that it must be made for one of, with spaces between them; empty: no key may.
func (n Need) Scope() string { return n.scope }
