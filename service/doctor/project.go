package doctor

import (
	"context"
	"slices"

	"svc.dev/svc/internal/bundle"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
)

// lookAtProject makes a bundle of the project as a node that starts does, and compares it with those of the nodes that work.
func (d *doctor) lookAtProject(ctx context.Context) {
	works := slices.ContainsFunc(d.parts, func(p config.Part) bool { return p.Works })
	var mine database.Bundle
	if works && d.config.Project != "" {
		made, err := bundle.Open(d.config.Project)
		if err != nil {
			d.add("project", fail(lined(err), "mend what is named, or let project.path name another folder or file of svc bundle"))
			return
		}
		mine.Hash = made.Hash()
		d.add("project", fine(mine.String()+" of "+d.config.Project))
	}
	if d.db == nil || !d.db.Shared() {
		return
	}
	all, err := sqldb.Read(ctx, d.db, database.Bundles)
	if err != nil {
		return // the tables are not there yet, of which the migrations tell
	}
	if works {
		all = append(all, mine)
	}
	d.judgeBundles(all)
}

// judgeBundles compares the projects of nodes. A node that has none of several is one that differs.
func (d *doctor) judgeBundles(all []database.Bundle) {
	apart := database.Apart(all)
	switch {
	case apart != "":
		d.add("project bundles", warn("nodes run different projects: "+apart, "give every node the same file of svc bundle, and start again those that have another"))
	case len(all) > 1 && all[0].Hash != "":
		d.add("project bundles", fine("every node runs "+all[0].String()))
	}
}
