package page

// The pages below are opened by a link whose fragment is a token, which a script moves into the form. Without scripts a
// person pastes it. None posts by itself: programs that look through mail open links, and some run what they find there.
//
// Token is set when a refusal did not spend it, so that it need not be found again.

// Reset is the page at ResetPath. Its form posts token and newPassword and, once it has shown the identities of the account,
// unlink for each that is ticked, and shown.
type Reset struct {
	Form
	Token string
	// Items are the identities that lead into the account. They are known only with a token that is good.
	Items []Identity
}

func (r Reset) sheet() sheet {
	s := sheet{name: "reset", title: "Choose a new password", shell: door, aid: true, token: true, fields: []string{"token", "newPassword"}}
	if len(r.Items) > 0 {
		s.fields = append(s.fields, "unlink")
	}
	return s
}

// tokenForm is a page whose form posts token alone.
type tokenForm struct {
	Form
	Token string
}

type (
	// Verify is the page at VerifyPath.
	Verify tokenForm
	// Undo is the page at UndoPath, which takes back a change of the e-mail address.
	Undo tokenForm
	// Undelete is the page at UndeletePath, which takes back the deletion of an account.
	Undelete tokenForm
)

func (Verify) sheet() sheet {
	return sheet{name: "verify", title: "Verify your e-mail address", shell: door, token: true, fields: []string{"token"}}
}

func (Undo) sheet() sheet {
	return sheet{name: "undo", title: "Keep your earlier e-mail address", shell: door, token: true, fields: []string{"token"}}
}

func (Undelete) sheet() sheet {
	return sheet{name: "undelete", title: "Keep your account", shell: door, token: true, fields: []string{"token"}}
}

// Invitation is the page at InvitationPath, where somebody comes to a workspace that they were invited to. Its form posts
// token.
type Invitation struct {
	Form
	Token string
	// SignedInAs is who is signed in, and comes in. Empty: they sign in first.
	SignedInAs string
	// Email is the address of their account.
	Email string
	// Workspace, Inviter and Role are what the token is for, once it was looked at. Empty: it was not yet.
	Workspace     Workspace
	Inviter, Role string
}

func (i Invitation) sheet() sheet {
	s := sheet{name: "invitation", title: "Join a workspace", shell: door, token: true}
	if i.SignedInAs != "" {
		s.fields = []string{"token"}
	}
	return s
}
