package operation

import (
	"context"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/workspace"
)

// staff are the people of the staff's own workspace.
var staff = []Row{
	list(Own+"/people", access.May(workspace.Read), listStaff).on(access.Admin).says("List the staff."),
	get(Own+"/people/{account}", access.May(workspace.Read), getStaff).on(access.Admin).says("Read one of the staff.", fault.ItemNotFound),
}

func listStaff(ctx context.Context, c Call, in page) (listing.Page[workspace.Member], error) {
	all, err := c.Accounts.Staff.People(ctx, account.PeopleQuery{Query: in.Query, Staff: true})
	return listing.Map(all, staffMember), err
}

func getStaff(ctx context.Context, c Call, in member) (workspace.Member, error) {
	p, err := c.Accounts.Staff.Person(ctx, in.Account)
	if err == nil && (p.Role == account.RoleNone || !p.EraseAt.IsZero()) {
		err = fault.New(fault.ItemNotFound, "There is no such person.", "")
	}
	return staffMember(p), err
}

// staffMember is one of the staff as a member of their own workspace.
func staffMember(p account.Person) workspace.Member {
	return workspace.Member{
		Colleague: workspace.Colleague{Account: p.ID, Username: p.Username, DisplayName: p.DisplayName}, Role: p.Role, Teams: []workspace.TeamName{},
		LastSeenAt: iso.At(p.LastSeenAt), CreatedAt: iso.At(p.CreatedAt), UpdatedAt: iso.At(p.UpdatedAt), Version: p.Version,
	}
}
