package gateway

import (
	"svc.dev/svc/fault"
	"svc.dev/svc/service/workspace"
)

// authorizeStaff lets staff into a workspace by the authority of the service. It needs the elevation that comes with the
// staff's own routes; until then nobody has it.
func (x *exchange) authorizeStaff(string, workspace.Right) (guest, error) {
	who, err := x.session()
	if err != nil {
		return guest{}, err
	}
	if who == nil {
		return guest{}, unauthenticated()
	}
	return guest{}, fault.New(adminRequired, "Only staff may do this.", "")
}
