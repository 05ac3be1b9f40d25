package workspace

import "slices"

// The roles of a workspace. Billing stands beside the others: it is no step on the way to them.
const (
	Owner   = "owner"
	Admin   = "admin"
	Builder = "builder"
	Viewer  = "viewer"
	Billing = "billing"
)

// Right is something that a role may do.
type Right string

// The rights there are.
const (
	Enter        Right = "enter"         // see that the workspace is there, and leave it
	Read         Right = "read"          // agents, runs, projects, people, teams
	Work         Right = "work"          // prompt, run, edit projects
	Review       Right = "review"        // see what only those who manage need to: the audit log, invitations, keys
	Manage       Right = "manage"        // connectors, secrets, keys, people, invitations, teams, the workspace's name
	Own          Right = "own"           // archive and delete the workspace, set its limits
	BillingRead  Right = "billing.read"  // plan, usage, invoices
	BillingWrite Right = "billing.write" // change the plan and how it is paid
)

// support is the role that staff have who read everything and change nothing. Nobody is a member by it.
const support = "support"

// table is who may do what. What does not stand here nobody may.
var table = map[string][]Right{
	Viewer:  {Enter, Read},
	Builder: {Enter, Read, Work},
	Admin:   {Enter, Read, Work, Review, Manage, BillingRead},
	Owner:   {Enter, Read, Work, Review, Manage, Own, BillingRead, BillingWrite},
	Billing: {Enter, BillingRead, BillingWrite},
	support: {Enter, Read, Review, BillingRead},
}

// Roles are the roles that a member can have, the least first.
func Roles() []string { return []string{Billing, Viewer, Builder, Admin, Owner} }

// IsRole reports whether a member can have the role.
func IsRole(role string) bool { return slices.Contains(Roles(), role) }

// Allows reports whether the role may do that. An unknown role may do nothing, and an unknown right nobody has.
func Allows(role string, r Right) bool { return slices.Contains(table[role], r) }

// Least is the least role that may do that, which a refusal names; empty: none may.
func Least(r Right) string {
	return least(func(role string) bool { return Allows(role, r) })
}

// AtMost reports whether a role may do nothing that the other may not: then who has the other may give it and take it.
func AtMost(role, other string) bool {
	for _, r := range table[role] {
		if !Allows(other, r) {
			return false
		}
	}
	return IsRole(role)
}

// mayHandle reports whether somebody may give and take all these roles.
func mayHandle(own string, roles ...string) bool {
	for _, role := range roles {
		if !AtMost(role, own) {
			return false
		}
	}
	return Allows(own, Manage)
}

// refuseHandling is nil for somebody who may give and take all these roles, and else says which role may.
func refuseHandling(own string, roles ...string) error {
	if mayHandle(own, roles...) {
		return nil
	}
	return forbidden(least(func(role string) bool { return mayHandle(role, roles...) }))
}

func least(may func(role string) bool) string {
	for _, role := range Roles() {
		if may(role) {
			return role
		}
	}
	return ""
}

// greatest is the role of those that gives most within a project, where billing gives nothing.
func greatest(roles ...string) string {
	return slices.MaxFunc(roles, func(a, b string) int { return slices.Index(Roles(), a) - slices.Index(Roles(), b) })
}
