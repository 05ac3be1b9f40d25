package gateway

import (
	"svc.dev/svc/service/workspace"
)

// acceptInvitation lets somebody in who was invited.
func (x *exchange) acceptInvitation() error {
	var body tokenBody
	if err := x.decode(&body); err != nil {
		return err
	}
	return x.writeWorkspace(x.accept(body.Token))
}

// accept brings whoever is signed in into the workspace of an invitation.
func (x *exchange) accept(token string) (workspace.Membership, error) {
	return x.g.Workspaces.Accept(x.ctx(), x.guest(), token)
}

// guest is whoever is signed in, as somebody who comes with an invitation.
func (x *exchange) guest() workspace.Guest {
	p := x.who.Account
	return workspace.Guest{Actor: p.Actor(), Email: p.Email, Verified: p.EmailVerified}
}
