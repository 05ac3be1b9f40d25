package gateway

import (
	"errors"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// still asks anew for a credential and for the right of its person in the project of the path.
func (x *exchange) still(same func() error, place standing, account string, right workspace.Right) func() error {
	return func() error {
		if err := same(); err != nil {
			return refusals(err)
		}
		_, err := x.projectSeat(place, account, right)
		return refusals(err)
	}
}

// refusals are what ends a transfer. A database that cannot say whether somebody may go on ends nothing.
func refusals(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	return nil
}

// sameSession asks for the session again, and for the view that it has.
func (x *exchange) sameSession() error {
	who, found, err := x.g.Accounts.Who(x.ctx(), x.token)
	if err == nil && found && x.view != nil {
		_, found, err = x.g.Accounts.View(x.ctx(), who, x.host(viewCookie))
	}
	if err != nil || found {
		return err
	}
	return unauthenticated()
}

// sameKey asks for the key again.
func (x *exchange) sameKey() error {
	_, err := x.g.Accounts.Bearer(x.ctx(), bearer(x.r.Header.Get("Authorization")))
	return err
}

// stillStaff asks for the authority of the staff again, and for the workspace.
func (x *exchange) stillStaff(address string, right workspace.Right) func() error {
	watch := x.watchStaff(right)
	return func() error {
		if !watch(x.ctx()) {
			return unauthenticated()
		}
		if address == scope.Admin {
			return nil
		}
		if _, found, err := x.g.Accounts.WorkspaceAt(x.ctx(), address); err == nil && !found {
			return noWorkspace()
		}
		return nil
	}
}
